import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';
import { unescaped } from './unescape.ts';

/** Texts of more bytes than this are left out of a hollow document. */
const longFrom = 4 * 1024;

/** A turn of the event loop looks at so many bytes, which takes some milliseconds at worst. */
const bytesInATurn = 1024 * 1024;

/** After so many bytes of a text without a quote, the next one is searched for, which costs more than it saves before. */
const plainFrom = 256;

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Arrays that can be as long as a text, and whose content nobody looks at on its way to a reader. */
const opaqueArray = Buffer.from('"logprobs":[');

/**
 * The long texts of a JSON document, as the bytes that they are in it.
 *
 * A document without them is small, so it is parsed, changed and printed at little cost, as often as somebody reads it. A mark
 * stands for each text, in every place where that gets to. What was printed becomes bytes by `piecesOf`, which copies
 * none of them: all readers of an answer share its one copy.
 *
 * Nobody can write a mark: each document has a random one.
 */
export class LongTexts {
  readonly #mark = randomUUID();
  readonly #texts: Buffer[] = [];
  /** A text is inside of quotes. Elements stand for the only element of an array, with its quotes. */
  readonly #pattern = new RegExp(`<${this.#mark}:(\\d+)>|"\\[${this.#mark}:(\\d+)\\]"`, 'g');
  /** The mark of a value has the number of its text, and how many bytes it is without its escapes. */
  readonly #valuePattern = new RegExp(`"\\{${this.#mark}:(\\d+):(\\d+)\\}"`, 'g');

  /**
   * Takes the long texts out of a document, a piece in each turn of the event loop. The document must be printed without
   * spaces, and must not change.
   */
  static async takenFrom(json: Buffer): Promise<{ hollow: string; texts: LongTexts }> {
    const texts = new LongTexts();
    const taking = texts.#takeFrom(json);
    for (let turn = taking.next(); ; turn = taking.next()) {
      if (turn.done) return { hollow: turn.value, texts };
      await breathe();
    }
  }

  /** The bytes of JSON that was printed of a hollow document: what is short of it, and the long texts where their marks are. */
  piecesOf(json: string): Buffer[] {
    const pieces: Buffer[] = [];
    let at = 0;
    for (const match of json.matchAll(this.#pattern)) {
      if (match.index > at) pieces.push(Buffer.from(json.slice(at, match.index)));
      pieces.push(this.#textOf(match));
      at = match.index + match[0].length;
    }
    if (at < json.length) pieces.push(Buffer.from(json.slice(at)));
    return pieces;
  }

  /** How many bytes `piecesOf` gives, about: characters that are not long texts count as one. */
  lengthOf(json: string): number {
    let length = json.length;
    for (const match of json.matchAll(this.#pattern)) length += this.#textOf(match).length - match[0].length;
    return length;
  }

  /**
   * A long text that is JSON itself, as a value of the document that stands where the text would: a mark that `bodyOf` puts the content in
   * the place of. `scan` is given the content in pieces, each in a turn of the event loop, and says whether it is. Undefined if it is none, or if the text
   * is not a long one.
   */
  async valueOf(
    hollow: string,
    scan: { take: (piece: Uint8Array) => void; readonly isWhole: boolean },
  ): Promise<string | undefined> {
    const [match] = hollow.matchAll(this.#pattern);
    if (match?.[1] === undefined || match[0] !== hollow) return undefined;
    let bytes = 0;
    for (const piece of unescaped(this.#textOf(match))) {
      scan.take(piece);
      bytes += piece.length;
      await breathe();
    }
    return scan.isWhole ? `"{${this.#mark}:${match[1]}:${bytes}}"` : undefined;
  }

  /** As `piecesOf`, also with values. Their bytes are made of those of the text when they are wanted, which copies some of them at a time. */
  bodyOf(json: string): { byteLength: number; pieces: Iterable<Buffer> } {
    const parts: (Buffer | { text: Buffer; byteLength: number })[] = [];
    let at = 0;
    for (const match of json.matchAll(this.#valuePattern)) {
      parts.push(...this.piecesOf(json.slice(at, match.index)));
      parts.push({ text: this.#textOf(match), byteLength: Number(match[2]) });
      at = match.index + match[0].length;
    }
    parts.push(...this.piecesOf(json.slice(at)));
    return {
      byteLength: parts.reduce((sum, { byteLength }) => sum + byteLength, 0),
      pieces: piecesOfAll(parts),
    };
  }

  /** A part of the document with its long texts: a copy. */
  filled<Value>(hollow: Value): Value {
    // The JSON of a value parses to a value of its type.
    return JSON.parse(Buffer.concat(this.piecesOf(JSON.stringify(hollow))).toString()) as Value;
  }

  #textOf(match: RegExpExecArray): Buffer {
    return this.#texts[Number(match[1] ?? match[2])] ?? Buffer.alloc(0);
  }

  /** Yields between two turns, and returns what is left of the document. */
  *#takeFrom(json: Buffer): Generator<void, string> {
    const kept: string[] = [];
    let keptTo = 0;
    let turnTo = bytesInATurn;
    const cut = (start: number, end: number, mark: string) => {
      kept.push(json.toString('utf8', keptTo, start), mark);
      this.#texts.push(json.subarray(start, end));
      keptTo = end;
    };
    for (let at = 0; at < json.length; at += 1) {
      if (at >= turnTo) {
        turnTo = at + bytesInATurn;
        yield;
      }
      if (json[at] !== quote) continue;
      const isOpaque = json[at + 1] === opaqueArray[1] && startsAt(json, at, opaqueArray);
      const open = isOpaque ? at + opaqueArray.length - 1 : at;
      const close = isOpaque ? yield* endOfArray(json, open, turnTo) : yield* endOfText(json, open, turnTo);
      if (close - open > longFrom) {
        const number = this.#texts.length;
        cut(open + 1, close, isOpaque ? `"[${this.#mark}:${number}]"` : `<${this.#mark}:${number}>`);
      }
      at = close;
    }
    kept.push(json.toString('utf8', keptTo));
    return kept.join('');
  }
}

function* piecesOfAll(parts: readonly (Buffer | { text: Buffer })[]): Generator<Buffer> {
  for (const part of parts) {
    if (Buffer.isBuffer(part)) yield part;
    else yield* unescaped(part.text);
  }
}

function startsAt(json: Buffer, at: number, start: Buffer): boolean {
  return json.compare(start, 0, start.length, at, at + start.length) === 0;
}

/** Where the quote is that closes a text. Yields after the turn that ends at `turnTo`, and after each one behind that. */
function* endOfText(json: Buffer, open: number, turnTo: number): Generator<void, number> {
  let at = open + 1;
  for (let end = turnTo; at < json.length; end = at + bytesInATurn) {
    for (; (at = nextQuote(json, at, end)) < end; at += 1) if (!isEscaped(json, at, open)) return at;
    yield;
  }
  throw new SyntaxError('A text in JSON has no end');
}

/** Where the next quote before `to` is; `to` if there is none. */
function nextQuote(json: Buffer, from: number, to: number): number {
  const looked = Math.min(from + plainFrom, to);
  for (let at = from; at < looked; at += 1) if (json[at] === quote) return at;
  if (looked >= to) return to;
  const found = json.subarray(looked, to).indexOf(quote);
  return found === -1 ? to : looked + found;
}

/** Whether an odd number of backslashes stands before a quote of the text that begins at `open`. */
function isEscaped(json: Buffer, at: number, open: number): boolean {
  let first = at;
  while (first - 1 > open && json[first - 1] === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

/** Where the bracket is that closes an array. Yields as `endOfText` does. */
function* endOfArray(json: Buffer, open: number, turnTo: number): Generator<void, number> {
  let depth = 0;
  let end = turnTo;
  for (let at = open; at < json.length; at += 1) {
    if (at >= end) {
      end = at + bytesInATurn;
      yield;
    }
    const byte = json[at];
    if (byte === quote) at = yield* endOfText(json, at, end);
    else if (byte === openBracket) depth += 1;
    else if (byte === closeBracket && (depth -= 1) === 0) return at;
  }
  throw new SyntaxError('An array in JSON has no end');
}
