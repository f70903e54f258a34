import { heldFragments } from '@sluice/admission';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';

const appendScript = defineScript({
  by: 'attempt',
  writes: ['seq', 'log_bytes', 'long_events', 'held'],
  file: new URL('../../src/transitions/append.lua', import.meta.url),
  fragments: [...heldFragments, ...fragments('clock', 'watchers', 'long-events')],
  keys: ['load'],
  args: [],
});

export interface Append {
  responseId: string;
  /** The lease. */
  token: string;
  /** Number of the first event, one more than the last in the log. */
  sequenceNumber: number;
  /** Events as JSON, numbered by their writer; a long one as `writeLongEvent` has written it. */
  events: readonly string[];
}

const words = ['ok', 'cancelled', 'superseded', 'terminal', 'missing', 'gap', 'lost'] as const;

/**
 * `cancelled`: the events were written, and somebody has asked for the end meanwhile. `lost`: nothing was, because what was written of a
 * long event is gone; it is to be written again.
 */
export type AppendResult = (typeof words)[number];

/**
 * Appends events to the logs of streamed responses, which are in one cell, and shows them to their readers. All of it is one atomic step,
 * and each response stands for itself in it: one whose events cannot be written gets an error, and the others are written.
 *
 * Repeating an append after a lost reply changes nothing and answers the same. A writer whose lease has passed to another
 * gets `superseded` and has written nothing.
 *
 * @throws {Error} when nothing could be written.
 */
export async function append(
  access: Pick<StoreAccess, 'redis' | 'keys'>,
  appends: readonly Append[],
): Promise<(AppendResult | Error)[]> {
  const [one] = appends;
  if (!one) return [];
  const { load } = keysOf(access, one.responseId).cell;
  const moreKeys: string[] = [];
  const moreArgs: string[] = [];
  for (const { responseId, token, sequenceNumber, events } of appends) {
    const { record, log } = keysOf(access, responseId);
    moreKeys.push(record, log);
    moreArgs.push(responseId, token, String(sequenceNumber), String(events.length), ...events);
  }
  const reply = await appendScript(access.redis, { keys: { load }, args: {}, moreKeys, moreArgs });
  return textReply(reply).map(resultOf);
}

const errorMark = 'error ';

function resultOf(reply: string | undefined): AppendResult | Error {
  const word = words.find((each) => each === reply);
  if (word) return word;
  if (reply?.startsWith(errorMark)) return new Error(reply.slice(errorMark.length));
  return new TypeError(`The append script answered '${String(reply)}'`);
}
