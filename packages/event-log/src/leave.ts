import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import { loadScript, textReply } from './script.ts';

const prelude = new URL('../src/record.lua', import.meta.url);
const leaveScript = loadScript(prelude, new URL('../src/leave.lua', import.meta.url));
const checkLeasesScript = loadScript(prelude, new URL('../src/check-leases.lua', import.meta.url));

export type LeaveResult =
  | { kind: 'missing' | 'terminal' | 'detached' }
  /** The end was asked for. A response that is still queued has no worker to write it: the caller does. */
  | { kind: 'asked'; isQueued: boolean };

/**
 * Takes an api process off a response whose caller is gone.
 *
 * When nobody else is attached and the response is not in the background, its end is asked for, and the worker
 * that runs it is told at once. With `evenIfWatched` it is asked for whoever else is attached.
 */
export async function leave(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  options: { apiProcess: string; evenIfWatched?: boolean; reason: 'caller_left' | 'timed_out' },
): Promise<LeaveResult> {
  const [kind, status] = textReply(
    await leaveScript(
      redis,
      [keys.record(responseId)],
      [options.apiProcess, options.evenIfWatched ? '1' : '', options.reason],
    ),
  );
  switch (kind) {
    case 'missing':
    case 'terminal':
    case 'detached':
      return { kind };
    case 'asked':
      return { kind, isQueued: status === 'queued' };
    default:
      throw new TypeError(`The leave script answered '${String(kind)}'`);
  }
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
