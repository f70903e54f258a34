import type { InputItem } from '@sluice/contract';
import type { Redis } from 'ioredis';
import { type ClaimedRecord, fieldMap, parseRecord, recordVersion } from './record.ts';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript, textReply } from './script.ts';

const claimScript = loadScript(
  new URL('../src/record.lua', import.meta.url),
  new URL('../src/claim.lua', import.meta.url),
);
const releaseScript = loadScript(new URL('../src/release.lua', import.meta.url));

/** Why a claimed response is ended instead of run. */
export type ClaimEnd = 'cancelled' | 'expired' | 'broken_off' | 'exhausted';

export type Claim =
  | { kind: 'run'; record: ClaimedRecord }
  | { kind: 'end'; because: ClaimEnd; record: ClaimedRecord }
  /** Nothing to do: the job was a leftover. */
  | { kind: 'nothing'; because: 'missing' | 'terminal' }
  | { kind: 'unknown_version' };

export interface ClaimOptions {
  token: string;
  /** Channel on which this worker hears of cancellations. */
  workerChannel: string;
  totalMs: number;
  maxAttempts: number;
}

/**
 * Takes the lease of a response for a new attempt.
 *
 * Every older token is superseded from this moment on, so one that was taken for dead and wakes up late writes
 * nothing. Safe to run for a job delivered twice, late, or by hand from a dashboard.
 */
export async function claim(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  options: ClaimOptions,
): Promise<Claim> {
  const [kind, now, ...pairs] = textReply(
    await claimScript(
      redis,
      [keys.record(responseId), keys.log(responseId), keys.load],
      [options.token, options.workerChannel, recordVersion, options.totalMs, options.maxAttempts],
    ),
  );
  switch (kind) {
    case 'missing':
    case 'terminal':
      return { kind: 'nothing', because: kind };
    case 'unknown_version':
      return { kind };
    case 'run':
      return {
        kind,
        record: await claimedRecord(redis, keys, responseId, options, Number(now), fieldMap(pairs)),
      };
    case 'cancelled':
    case 'expired':
    case 'broken_off':
    case 'exhausted':
      return {
        kind: 'end',
        because: kind,
        record: await claimedRecord(redis, keys, responseId, options, Number(now), fieldMap(pairs)),
      };
    default:
      throw new TypeError(`The claim script answered '${String(kind)}'`);
  }
}

/** Gives a response back unfinished; the attempt is not counted. False when the lease was lost already. */
export async function release(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  token: string,
): Promise<boolean> {
  return (await releaseScript(redis, [keys.record(responseId)], [token])) === 1;
}

async function claimedRecord(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  { maxAttempts }: ClaimOptions,
  now: number,
  fields: Map<string, string>,
): Promise<ClaimedRecord> {
  const input = fields.get('input') ?? (await redis.get(keys.input(responseId))) ?? '[]';
  return {
    ...parseRecord(fields),
    input: JSON.parse(input) as InputItem[], // written by the accept from a validated request
    attempt: Number(fields.get('attempt') ?? 0),
    maxAttempts,
    requestId: fields.get('request_id') ?? '',
    remainingMs: Number(fields.get('run_by') ?? now) - now,
  };
}
