import { admissionFragments } from '@sluice/admission';
import type { LimitedBefore } from '../record/record.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { parseLetIn } from './let-in.ts';

const releaseScript = defineScript({
  by: 'attempt',
  writes: [
    'token',
    'worker',
    'postponed_by',
    'attempt',
    'hand_overs',
    'run_by',
    'shown',
    'limited',
    'limited_at',
    'tag',
  ],
  file: new URL('../../src/transitions/release.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('let-in')],
  keys: ['record', 'load'],
  args: [
    'id',
    'token',
    'uncounted',
    'most_hand_overs',
    'postponed_by',
    'unbegun',
    'shown',
    'limited',
    'limited_at',
  ],
  numbers: ['most_hand_overs'],
});

/**
 * A response that was handed over so often has met enough workers that stopped. From then on each further run counts as
 * an attempt, so that what never gets the time it needs has an end.
 */
const mostHandOvers = 3;

/** An attempt in the hands of this process. */
export interface HeldAttempt {
  id: string;
  token: string;
}

export interface ReleaseOptions {
  /** Whether the attempt counts. */
  isCounted: boolean;
  /** Whether it is given back because this process stops. The attempt then counts after a few times, whatever is said above. */
  isHandOver?: boolean;
  /** Whether this process goes on hearing of requests for the end, until a worker claims the response. */
  staysReachable?: boolean;
  /** Whether its time to run is to begin with a later claim, if it began with this one, which has called nothing. */
  isUnbegun?: boolean;
  /** Whether a reader may have seen output of it. Then no other run follows, also when the store has lost that output. */
  isShown?: boolean;
  /** How often an upstream limited it; unchanged where nothing is said. */
  limited?: LimitedBefore | undefined;
}

/** Gives a response back unfinished. False when it was not held any more. */
export async function release(
  access: StoreAccess,
  { id, token }: HeldAttempt,
  {
    isCounted,
    isHandOver,
    isUnbegun,
    isShown,
    channel,
    limited,
  }: {
    isCounted: boolean;
    isHandOver: boolean;
    isUnbegun: boolean;
    isShown: boolean;
    channel: string | undefined;
    limited: LimitedBefore | undefined;
  },
): Promise<boolean> {
  const { cell, record } = keysOf(access, id);
  const args = {
    id,
    token,
    uncounted: isCounted ? 0 : 1,
    most_hand_overs: isHandOver ? mostHandOvers : '',
    postponed_by: channel ?? '',
    unbegun: isUnbegun ? 1 : '',
    shown: isShown ? 1 : '',
    limited: limited?.count ?? '',
    limited_at: limited?.at ?? '',
  };
  const reply = await releaseScript(access.redis, { keys: { record, load: cell.load }, args });
  const [first, ...letIn] = Array.isArray(reply) ? textReply(reply) : [String(reply)];
  access.onLetIn?.(parseLetIn(letIn));
  return first === '1';
}
