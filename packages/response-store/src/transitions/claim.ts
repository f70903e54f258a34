import { admissionFragments } from '@sluice/admission';
import { type FieldName, parseFields } from '../record/fields.ts';
import { inputAt, readRequestAhead } from '../record/large-value.ts';
import { type ClaimedRecord, parseRecord, readerFields } from '../record/record.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';
import { parseLetIn } from './let-in.ts';

/** Everything a claim looks at and an attempt needs, read once. */
const claimedFields = [
  ...readerFields,
  'attempt',
  'losses',
  'counted',
  'token',
  'worker',
  'cancel',
  'watchers',
  'background',
  'left_at',
  'grace_ms',
  'queue_by',
  'run_by',
  'begun_by',
  'shown',
  'weight',
  'tag',
  'turn',
  'most_output',
  'previous',
  'followed',
  'input',
  'large_bytes',
  'asked_bytes',
  'request_id',
  'limited',
  'limited_at',
] satisfies FieldName[];

/** With those that no script needs to find: records that other releases wrote may lack them. */
const readFields = [...claimedFields, 'input_tokens'] satisfies FieldName[];

const claimScript = defineScript({
  by: 'attempt',
  writes: [
    'status',
    'left_at',
    'token',
    'worker',
    'attempt',
    'counted',
    'losses',
    'started_at',
    'run_by',
    'begun_by',
    'seq',
    'tag',
  ],
  file: new URL('../../src/transitions/claim.lua', import.meta.url),
  fragments: [...admissionFragments, ...fragments('clock', 'watchers', 'absence', 'let-in')],
  keys: ['record', 'log', 'load'],
  args: ['token', 'worker', 'total_ms', 'max_attempts', 'lease_ms', 'lapse_ms', 'most_losses'],
  numbers: ['total_ms', 'max_attempts', 'lease_ms', 'lapse_ms', 'most_losses'],
  lists: { claimed: claimedFields },
});

/**
 * A response is not run again after so many runs that died with their processes: one among all others of a worker, one
 * among other suspects, and one alone. One that was alone before is known sooner; see `blame`.
 */
export const mostLosses = 3;

/** From so many losses on a response has to run alone. */
export const lossesToBeAlone = mostLosses - 1;

const endKinds = ['cancelled', 'expired', 'broken_off', 'lost', 'exhausted'] as const;

/** Why a claimed response is ended instead of run. `input_lost`: somebody deleted it, or its large request, behind our back. */
export type ClaimEnd = (typeof endKinds)[number] | 'input_lost';

export type Claim =
  | { kind: 'run'; record: ClaimedRecord }
  | { kind: 'end'; because: ClaimEnd; record: ClaimedRecord }
  /** Nothing to do: the job was a leftover. */
  | { kind: 'nothing'; because: 'missing' | 'terminal' }
  /** A worker that lives runs it, as far as anybody can tell: try again in a while. */
  | { kind: 'held' }
  /** The lease is taken, but there is no room for the input, which was not read. The claimer gives the response back. */
  | { kind: 'no_room'; held: PostponedClaim }
  /** As many of its tenant run as may: it has to `standInLine`. */
  | { kind: 'crowded' }
  /** Others have gone on in the order while it was away: it goes back into its queue, with this priority. */
  | { kind: 'overtaken'; priority: number }
  | { kind: 'unknown_version' };

/** A claimed response whose input was not read. */
export type PostponedClaim = Pick<ClaimedRecord, 'id' | 'token' | 'tenant' | 'attempt'> & {
  model: string;
  /** Bytes of the input, with all that its response continues from. */
  bytes: number;
};

/** Takes room for an input, with all that its response continues from, before it is read. False when there is none. */
export type RoomForInput = (wanted: { id: string; token: string; tenant: string; bytes: number }) => boolean;

export interface ClaimOptions {
  token: string;
  /** Lease of this worker, and the channel on which it hears of cancellations. */
  worker: string;
  /**
   * For how long that lease has been held without a break, in milliseconds. Undefined takes the response over, whoever
   * runs it.
   */
  leaseHeldMs: number | undefined;
  /** How long a live worker may take to renew a lease that lapsed while the store was away, in milliseconds. */
  leaseLapseMs: number;
  totalMs: number;
  maxAttempts: number;
  /** Default: there is always room. */
  roomForInput?: RoomForInput | undefined;
}

/**
 * Takes the lease of a response for a new attempt.
 *
 * Every older token is superseded from this moment on, so one that was taken for dead and wakes up late writes nothing.
 * Safe to run for a job delivered twice, late, or by hand from a dashboard.
 */
export async function claim(access: LargeAccess, responseId: string, options: ClaimOptions): Promise<Claim> {
  const { cell, record, log } = keysOf(access, responseId);
  const reply = await claimScript(access.redis, {
    keys: { record, log, load: cell.load },
    args: {
      token: options.token,
      worker: options.worker,
      total_ms: options.totalMs,
      max_attempts: options.maxAttempts,
      lease_ms: options.leaseHeldMs === undefined ? '' : Math.floor(options.leaseHeldMs),
      lapse_ms: options.leaseLapseMs,
      most_losses: mostLosses,
    },
  });
  const claimed = parseClaimReply(reply);
  const { kind } = claimed;
  if (kind === 'missing' || kind === 'terminal') return { kind: 'nothing', because: kind };
  if (kind === 'unknown_version' || kind === 'held' || kind === 'crowded') return { kind };
  if (kind === 'overtaken') return { kind, priority: claimed.now };
  const ended = endKinds.find((each) => each === kind);
  if (kind !== 'run' && ended === undefined) throw new TypeError(`The claim script answered '${kind}'`);
  access.onLetIn?.(parseLetIn(textReply(claimed.letIn)));
  const fields = parseFields(readFields, claimed.values);
  const reading = { fields, claimed, options };
  const held = ended === undefined ? withoutRoom(responseId, reading) : undefined;
  if (held) return { kind: 'no_room', held };
  const { record: found, isInputLost } = await readClaimed(access, responseId, reading);
  const because = ended ?? (isInputLost ? 'input_lost' : undefined);
  return because === undefined ? { kind: 'run', record: found } : { kind: 'end', because, record: found };
}

type ClaimedFields = ReturnType<typeof parseFields<(typeof readFields)[number]>>;

interface Reading {
  fields: ClaimedFields;
  claimed: ReturnType<typeof parseClaimReply>;
  options: ClaimOptions;
}

/** The claim that is given back, if the worker may not hold the input beside those that it holds already. */
function withoutRoom(
  id: string,
  { fields, claimed, options: { token, roomForInput } }: Reading,
): PostponedClaim | undefined {
  const { tenant = '', asked_bytes: asked = 0, request_ahead: besides = 0 } = fields;
  const wanted = { id, token, tenant, bytes: asked + besides };
  if (roomForInput?.(wanted) !== false) return undefined;
  const { model } = parseRecord(fields)?.request ?? { model: '' };
  return { ...wanted, attempt: claimed.attempt, model };
}

/** The reply of the script; see claim.lua. A response that is not claimed has the kind alone. */
function parseClaimReply(reply: unknown) {
  const [kind, now = 0, attempt = 0, sequenceNumber = 0, runBy = 0, values = [], losses = 0, letIn = []] =
    reply as [...[string, number?, number?, number?, number?], (string | null)[]?, number?, unknown[]?];
  return { kind, now, attempt, sequenceNumber, runBy, values, losses, letIn };
}

/**
 * The record of a claimed response, with its large values, which the script does not read. A response that is only ended needs
 * none of them.
 */
async function readClaimed(
  access: LargeAccess,
  responseId: string,
  { fields, claimed, options }: Reading,
): Promise<{ record: ClaimedRecord; isInputLost: boolean }> {
  const { kind, now, attempt, sequenceNumber, runBy, losses } = claimed;
  const isRun = kind === 'run';
  const ahead = isRun ? await readRequestAhead(access, responseId, fields.request_ahead) : undefined;
  const found = parseRecord(ahead === undefined ? fields : { ...fields, request: ahead });
  if (!found) throw new TypeError('The claim script answered without a record');
  const input = isRun ? await inputAt(access, responseId, fields) : [];
  const isRequestLost = isRun && Boolean(fields.request_ahead) && ahead === undefined;
  const record: ClaimedRecord = {
    ...found,
    ...(isRun && { status: 'in_progress', startedAt: found.startedAt ?? now }),
    input: input ?? [],
    inputBytes: isRun ? inputBytesOf(fields) : 0,
    inputTokens: fields.input_tokens ?? 0,
    previousId: fields.previous === '' ? undefined : fields.previous,
    token: options.token,
    sequenceNumber,
    attempt,
    claimedAt: now,
    isFirstClaim: found.startedAt === undefined,
    losses,
    limited: fields.limited ? { count: fields.limited, at: fields.limited_at ?? now } : undefined,
    maxAttempts: options.maxAttempts,
    requestId: fields.request_id ?? '',
    mostOutputTokens: fields.most_output,
    remainingMs: runBy - now,
  };
  return { record, isInputLost: !input || isRequestLost };
}

function inputBytesOf({
  input = '',
  large_bytes: large = 0,
  request_ahead: ahead = 0,
}: ClaimedFields): number {
  return Buffer.byteLength(input) + large - ahead;
}
