import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';

const appendScript = defineScript({
  by: 'attempt',
  writes: ['seq'],
  file: new URL('../../src/transitions/append.lua', import.meta.url),
  fragments: fragments('watchers'),
  keys: ['record', 'log'],
  args: ['id', 'token', 'first'],
  numbers: ['first'],
});

export interface Append {
  /** The lease. */
  token: string;
  /** Number of the first event, one more than the last in the log. */
  sequenceNumber: number;
  /** Events as JSON, numbered by their writer. */
  events: readonly string[];
}

const words = ['ok', 'cancelled', 'superseded', 'terminal', 'missing', 'gap'] as const;

/** `cancelled`: the events were written, and somebody has asked for the end meanwhile. */
export type AppendResult = (typeof words)[number];

/**
 * Appends events to the log of a streamed response and shows them to its readers, in one atomic step.
 *
 * Repeating a call after a lost reply changes nothing and answers the same. A writer whose lease has passed to another
 * gets `superseded` and has written nothing.
 */
export async function append(
  access: StoreAccess,
  responseId: string,
  { token, sequenceNumber, events }: Append,
): Promise<AppendResult> {
  const reply = await appendScript(access.redis, {
    keys: keysOf(access, responseId),
    args: { id: responseId, token, first: sequenceNumber },
    moreArgs: events,
  });
  const word = words.find((each) => each === reply);
  if (!word) throw new TypeError(`The append script answered '${String(reply)}'`);
  return word;
}
