import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';

const releaseScript = defineScript({
  by: 'attempt',
  writes: ['token', 'worker', 'postponed_by', 'attempt', 'hand_overs'],
  file: new URL('../../src/transitions/release.lua', import.meta.url),
  keys: ['record'],
  args: ['token', 'uncounted', 'most_hand_overs', 'postponed_by'],
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
}

/** Gives a response back unfinished. False when it was not held any more. */
export async function release(
  access: StoreAccess,
  { id, token }: HeldAttempt,
  {
    isCounted,
    isHandOver,
    channel,
  }: { isCounted: boolean; isHandOver: boolean; channel: string | undefined },
): Promise<boolean> {
  const args = {
    token,
    uncounted: isCounted ? 0 : 1,
    most_hand_overs: isHandOver ? mostHandOvers : '',
    postponed_by: channel ?? '',
  };
  return (await releaseScript(access.redis, { keys: keysOf(access, id), args })) === 1;
}
