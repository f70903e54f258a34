import { checkEventGrammar, readSse, sseFrames } from '@sluice/testing';
import type { ResponseObject } from './caller.ts';

/** An event as it came over the wire, parsed. */
export type StreamEvent = { type: string; sequence_number: number; response?: ResponseObject } & Record<
  string,
  unknown
>;

export interface ReadStream {
  events: StreamEvent[];
  /** The response of the last event. */
  final: ResponseObject;
  text: string;
}

/**
 * Reads an event stream to its end and calls `onEvent` as events come. Rejects when the stream is cut, is not
 * framed as it should be, or breaks a rule of the grammar.
 */
export async function readStream(
  response: Response,
  onEvent: (event: StreamEvent) => void = () => undefined,
): Promise<ReadStream> {
  const { body } = response;
  if (body === null) throw new Error('the stream has no body');
  let whole = '';
  const texts = async function* () {
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      whole += text;
      yield text;
    }
  };
  for await (const { data } of sseFrames(texts())) {
    // What is no event of the contract is found below, when all of it is checked.
    if (data !== '[DONE]') onEvent(JSON.parse(data) as StreamEvent);
  }
  const { events: read, done, problems } = await readSse(whole);
  const violations = [...problems, ...checkEventGrammar(read)];
  if (!done) violations.push('the stream does not say that it is over');
  const events = read as StreamEvent[]; // The grammar holds each of them against the contract's schema.
  const final = events.at(-1)?.response;
  if (violations.length > 0 || final === undefined) {
    throw new Error(`not a good stream:\n${violations.join('\n')}\n\n${whole.slice(-2000)}`);
  }
  return { events, final, text: textOf(events) };
}

/** What the deltas of the text say together. */
export function textOf(events: readonly StreamEvent[]): string {
  return events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => String(delta))
    .join('');
}
