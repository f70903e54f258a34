import { behindBody, bodyMember } from './result-files.ts';

/** What comes of a file of results as it is read: a result that has expired, or one that begins, pieces of its body, which is JSON as it was given, and its end. */
export type ResultPart =
  | { kind: 'expired' | 'begin'; customId: string }
  | { kind: 'body'; bytes: Buffer }
  | { kind: 'end' };

const nothing = Buffer.alloc(0);

/**
 * Reads lines that `answered` and `expired` have made, in whatever pieces they come, and parses no body. A body may be as long as an answer, so none is
 * in memory as a whole.
 */
export class ResultReader {
  /** What is there of a line whose body has not begun. */
  #start = nothing;
  /** The last bytes of what is there of a body, which may be those behind it. */
  #last: Buffer | undefined;

  *read(chunk: Buffer): Generator<ResultPart> {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      yield* this.#take(chunk.subarray(from, end));
      yield* this.end();
      from = end + 1;
    }
    yield* this.#take(chunk.subarray(from));
  }

  /** Ends a line, as a line feed does, which the last one may lack. */
  *end(): Generator<ResultPart> {
    const [start, last] = [this.#start, this.#last];
    [this.#start, this.#last] = [nothing, undefined];
    if (last) yield { kind: 'end' };
    else if (start.length > 0) yield { kind: 'expired', customId: idOf(start) };
  }

  *#take(piece: Buffer): Generator<ResultPart> {
    let [last, body] = [this.#last, piece];
    if (!last) {
      const start = Buffer.concat([this.#start, piece]);
      // In the texts before it a quote stands behind a backslash.
      const at = start.indexOf(bodyMember);
      this.#start = at < 0 ? start : nothing;
      if (at < 0) return;
      yield { kind: 'begin', customId: idOf(start.subarray(0, at)) };
      [last, body] = [nothing, start.subarray(at + bodyMember.length)];
    }
    const bytes = Buffer.concat([last, body]);
    const end = Math.max(0, bytes.length - behindBody.length);
    // A copy, so that it keeps nothing else.
    this.#last = Buffer.from(bytes.subarray(end));
    if (end > 0) yield { kind: 'body', bytes: bytes.subarray(0, end) };
  }
}

/** The id of a line, which has not been read beyond the start of its response. */
function idOf(start: Buffer): string {
  const [, customId = '""'] =
    /^\{"id":"\w+","custom_id":("(?:[^"\\]|\\.)*")/.exec(start.toString('utf8')) ?? [];
  return String(JSON.parse(customId));
}
