import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript, textReply } from './script.ts';

const prelude = new URL('../src/record.lua', import.meta.url);
const leaveScript = loadScript(prelude, new URL('../src/leave.lua', import.meta.url));
const cancelScript = loadScript(prelude, new URL('../src/cancel.lua', import.meta.url));
const abandonScript = loadScript(prelude, new URL('../src/abandon.lua', import.meta.url));
const checkLeasesScript = loadScript(prelude, new URL('../src/check-leases.lua', import.meta.url));

export type LeaveResult =
  | { kind: 'missing' | 'terminal' | 'detached' }
  /** The end was asked for. A response that is still queued has no worker to write it: the caller does. */
  | { kind: 'asked'; isQueued: boolean };

/**
 * Takes an api process off a response whose caller is gone.
 *
 * When nobody else is attached, the response is not in the background and its grace is over, its end is asked
 * for, and the worker that runs it is told at once. `graceMs` can lengthen the grace, never shorten it.
 */
export async function leave(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  { apiProcess, graceMs = 0 }: { apiProcess: string; graceMs?: number },
): Promise<LeaveResult> {
  return asked(await leaveScript(redis, [keys.record(responseId)], [apiProcess, graceMs, 'caller_left']));
}

/** Asks for the end of a response, whoever waits for it. Doing it twice changes nothing; so does doing it late. */
export async function cancel(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  reason: 'requested' | 'timed_out' | 'deleted',
): Promise<Exclude<LeaveResult, { kind: 'detached' }>> {
  const result = asked(await cancelScript(redis, [keys.record(responseId)], [reason]));
  if (result.kind === 'detached') throw new TypeError('The cancel script answered as if somebody had left');
  return result;
}

/**
 * Takes back what may have been accepted although its caller was refused: nothing of it runs on, unless somebody
 * else was told that it is accepted. Repeat it until it is answered; it changes nothing twice.
 */
export async function abandon(redis: Redis, keys: RedisKeys, responseId: string): Promise<LeaveResult> {
  return asked(await abandonScript(redis, [keys.record(responseId), keys.input(responseId)], []));
}

export type LeaseState = 'ok' | 'superseded' | 'cancelled';

/** What became of responses that are being run; at most a hundred at a time keep the script short. */
export async function checkLeases(
  redis: Redis,
  keys: RedisKeys,
  held: readonly { responseId: string; token: string }[],
): Promise<LeaseState[]> {
  const reply = textReply(
    await checkLeasesScript(
      redis,
      held.map(({ responseId }) => keys.record(responseId)),
      held.map(({ token }) => token),
    ),
  );
  return reply.map((word) => (word === 'ok' || word === 'cancelled' ? word : 'superseded'));
}

function asked(reply: unknown): LeaveResult {
  const [kind, status] = textReply(reply);
  switch (kind) {
    case 'missing':
    case 'terminal':
    case 'detached':
      return { kind };
    case 'asked':
      return { kind, isQueued: status === 'queued' };
    default:
      throw new TypeError(`A script answered '${String(kind)}'`);
  }
}
