/** One event of a stream. */
export interface SseFrame {
  /** The `event` line. Empty for the last frame, which has none. */
  event: string;
  /** The `data` line, byte for byte. */
  data: string;
}

/** What was read from a stream. */
export interface SseRead {
  /** The parsed data of every event except `[DONE]`. */
  events: unknown[];
  /** The data lines as they arrived, except `[DONE]`. A replay must have the same lines. */
  data: string[];
  /** Whether the stream ended with `[DONE]`. */
  done: boolean;
  /** Problems of the framing, and the error that broke the stream. */
  problems: string[];
}

export type SseSource = string | AsyncIterable<string | Uint8Array>;

/** Reads a whole stream from a body or from chunks. If the stream breaks, the result has what came before. */
export async function readSse(source: SseSource): Promise<SseRead> {
  const read: SseRead = { events: [], data: [], done: false, problems: [] };
  const report = (problem: string) => read.problems.push(problem);
  try {
    for await (const { event, data } of sseFrames(source, report)) {
      if (read.done) report('nothing follows [DONE]');
      if (data === '[DONE]') {
        read.done = true;
        if (event !== '') report('the last frame has no event line');
        continue;
      }
      const value: unknown = JSON.parse(data);
      read.events.push(value);
      read.data.push(data);
      const type: unknown =
        typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined;
      if (type !== event) report(`the event line says '${event}', the data '${String(type)}'`);
    }
  } catch (error) {
    report(`the stream broke: ${error instanceof Error ? error.message : String(error)}`);
  }
  return read;
}

/** Yields each frame of a stream as soon as it is complete, for tests that act in the middle of a stream. */
export async function* sseFrames(
  source: SseSource,
  report: (problem: string) => void = () => undefined,
): AsyncGenerator<SseFrame> {
  let buffered = '';
  for await (const text of textOf(source)) {
    buffered += text;
    for (let at = buffered.indexOf('\n\n'); at !== -1; at = buffered.indexOf('\n\n')) {
      const frame = parseFrame(buffered.slice(0, at), report);
      buffered = buffered.slice(at + 2);
      if (frame) yield frame;
    }
  }
  if (buffered !== '') report('the stream ends inside a frame');
}

async function* textOf(source: SseSource): AsyncGenerator<string> {
  if (typeof source === 'string') {
    yield source;
    return;
  }
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of source)
    yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
}

/** Parses one frame. Returns undefined for a comment. */
function parseFrame(text: string, report: (problem: string) => void): SseFrame | undefined {
  const lines = text.split('\n');
  if (lines.every((line) => line.startsWith(':'))) return undefined;
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(': ');
    const name = line.slice(0, Math.max(colon, 0));
    if (name !== 'event' && name !== 'data') report(`unexpected line '${line}'`);
    else if (fields.has(name)) report(`two ${name} lines in one frame`);
    else fields.set(name, line.slice(colon + 2));
  }
  const data = fields.get('data');
  if (data === undefined) {
    report('a frame without data');
    return undefined;
  }
  return { event: fields.get('event') ?? '', data };
}
