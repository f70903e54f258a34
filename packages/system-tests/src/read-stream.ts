import { checkEventGrammar, readSse, sseFrames } from '@sluice/testing';

/** The members of a response object that tests read. */
export interface ResponseObject {
  id: string;
  object: string;
  status: string;
  output: { type: string; status?: string; content?: { type: string; text?: string }[] }[];
  output_text: string;
  error: { code: string; message: string } | null;
  usage: { input_tokens: number; output_tokens: number; total_tokens: number } | null;
}

/** A parsed event from the wire. */
export type StreamEvent = { type: string; sequence_number: number; response?: ResponseObject } & Record<
  string,
  unknown
>;

export interface ReadStream {
  events: StreamEvent[];
  /** The response in the last event. */
  final: ResponseObject;
  text: string;
}

/**
 * Reads an event stream to its end and calls `onEvent` for each event as it arrives. Rejects if the stream is cut, has
 * wrong framing, or breaks a rule of the grammar.
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
    // The check of the whole stream below finds what is not an event of the contract.
    if (data !== '[DONE]') onEvent(JSON.parse(data) as StreamEvent);
  }
  const { events: read, done, problems } = await readSse(whole);
  const violations = [...problems, ...checkEventGrammar(read)];
  if (!done) violations.push('the stream does not say that it is over');
  const events = read as StreamEvent[]; // The grammar has checked each of them with the contract's schema.
  const final = events.at(-1)?.response;
  if (violations.length > 0 || final === undefined) {
    throw new Error(`not a good stream:\n${violations.join('\n')}\n\n${whole.slice(-2000)}`);
  }
  return { events, final, text: textOf(events) };
}

/** The text that its deltas add up to. */
export function textOf(events: readonly StreamEvent[]): string {
  return events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => String(delta))
    .join('');
}
