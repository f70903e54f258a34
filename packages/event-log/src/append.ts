import { eventTypeOf, type ResponseEnd, statusesBefore } from '@sluice/contract';
import type { Redis } from 'ioredis';
import type { RedisKeys } from './redis-keys.ts';
import type { Retention } from './retention.ts';
import { loadScript, textReply } from './script.ts';

const appendScript = loadScript(
  new URL('../src/record.lua', import.meta.url),
  new URL('../src/append.lua', import.meta.url),
);

export interface Append {
  /** The lease; empty for an end that is written while nobody runs the response. */
  token: string;
  /** Number of the first event, one more than the last in the log. */
  sequenceNumber: number;
  /** Events as JSON, numbered by their writer. */
  events: readonly string[];
  end?: ResponseEnd;
  retention: Retention;
}

export type AppendResult =
  | { kind: 'ok' | 'superseded' | 'terminal' | 'missing' | 'gap' }
  /** Events were written, and somebody has asked for the end meanwhile. */
  | { kind: 'cancelled' };

/**
 * Appends events and, with `end`, ends the response, in one atomic step with everything that shows it.
 *
 * Repeating a call after a lost reply changes nothing and answers `ok` again. A writer whose lease has passed
 * to another gets `superseded` and has written nothing. The first end wins; a later one gets `terminal`.
 */
export async function append(
  redis: Redis,
  keys: RedisKeys,
  responseId: string,
  { token, sequenceNumber, events, end, retention }: Append,
): Promise<AppendResult> {
  const last = end ? [`{"type":"${eventTypeOf(end.status)}"}`] : [];
  const [kind, cancel] = textReply(
    await appendScript(
      redis,
      [keys.record(responseId), keys.log(responseId), keys.open, keys.load, keys.input(responseId)],
      [
        token,
        sequenceNumber,
        end?.status ?? '',
        end ? statusesBefore(end.status).join(' ') : '',
        end ? JSON.stringify(end) : '',
        retention.recordMs,
        retention.logMs,
        ...events,
        ...last,
      ],
    ),
  );
  switch (kind) {
    case 'ok':
      return { kind: cancel && !end ? 'cancelled' : 'ok' };
    case 'superseded':
    case 'terminal':
    case 'missing':
    case 'gap':
      return { kind };
    default:
      throw new TypeError(`The append script answered '${String(kind)}'`);
  }
}
