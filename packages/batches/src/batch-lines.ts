import type { Readable } from 'node:stream';
import { type BatchError, isObject, type LineEndpoint } from '@sluice/contract';

/** Most lines of a batch. */
export const mostLines = 50_000;

/** Most lines of a file, with the empty ones, which take time, too. */
export const mostWithEmpty = 2 * mostLines;

/** Most bytes of a line of the input. */
export const longestLine = 16 * 1024 * 1024;

/** A line of a file, with its number from 1 on. */
export interface RawLine {
  number: number;
  /** Undefined for one that is too long. */
  text: Buffer | undefined;
  /** The first bytes of one that is too long. */
  start?: Buffer | undefined;
  /** Whether a line feed is behind it, which the last one may lack. */
  isWhole: boolean;
}

/** The request of a line. */
export interface BatchLine {
  number: number;
  customId: string;
  /** The request, as JSON. */
  body: Uint8Array<ArrayBuffer>;
  /** Whether its response is to stay once its answer is in the file. */
  isKept: boolean;
}

/** How much of a line that is too long is kept: `idOfWrong` needs no more. */
const startBytes = 128;

/** A line that was read, or what is wrong with it. */
export type ParsedLine = { line: BatchLine } | { problem: BatchError };

/** Reads a line of the input where it holds up nobody; see `parseLine`. */
export type ReadLine = (
  tenant: string,
  raw: RawLine,
  endpoint: LineEndpoint,
) => ParsedLine | Promise<ParsedLine>;

/**
 * The lines of a file, one after the other, whatever the pieces in which it is read. Empty ones count and are left out. The first one behind
 * `mostWithEmpty` ends them, and is there even if it is empty.
 */
export async function* linesOf(content: Readable, most: number = longestLine): AsyncGenerator<RawLine> {
  let number = 0;
  let pieces: Buffer[] = [];
  let bytes = 0;
  let start: Buffer | undefined;
  const line = (isWhole: boolean): RawLine | undefined => {
    number += 1;
    if (number > mostWithEmpty) return { number, text: undefined, isWhole };
    if (bytes === 0) return undefined;
    const found =
      bytes > most
        ? { number, text: undefined, start, isWhole }
        : { number, text: Buffer.concat(pieces), isWhole };
    [pieces, bytes, start] = [[], 0, undefined];
    return found.text && isBlank(found.text) ? undefined : found;
  };
  const take = (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= most) {
      pieces.push(piece);
      return;
    }
    // The rest of one that is too long is read past.
    start ??= Buffer.concat([...pieces, piece], Math.min(bytes, startBytes));
    pieces = [];
  };
  for await (const chunk of content as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      if (end > from) take(chunk.subarray(from, end));
      from = end + 1;
      const found = line(true);
      if (found) yield found;
      if (number > mostWithEmpty) return;
    }
    if (from < chunk.length) take(Buffer.from(chunk.subarray(from)));
  }
  if (bytes > 0) {
    const found = line(false);
    if (found) yield found;
  }
}

/** Whether it has nothing but spaces. */
function isBlank(text: Buffer): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}

/**
 * The id of a line that may be wrong alone, while the others run: of a request of a batch of messages, whose lines this service has printed.
 * Undefined for a line of a file, which fails its batch.
 */
export function idOfWrong({ text, start = text }: RawLine, endpoint: LineEndpoint): string | undefined {
  if (endpoint !== '/v1/messages') return undefined;
  const printed = start?.subarray(0, startBytes).toString('latin1') ?? '';
  return /^\{"custom_id":"([\w-]+)"/.exec(printed)?.[1];
}

/** The ids of the lines of a batch of messages, of which none is in memory as a whole. */
export async function* idsOfMessages(content: Readable): AsyncGenerator<string> {
  for await (const raw of linesOf(content, startBytes)) {
    const id = idOfWrong(raw, '/v1/messages');
    if (id !== undefined) yield id;
  }
}

/** Most characters of a `custom_id`. */
const longestCustomId = 512;

/** Reads a line, or says what is wrong with it. A long one takes its time. */
export function parseLine({ number, text }: Omit<RawLine, 'isWhole'>, endpoint: LineEndpoint): ParsedLine {
  const problem = (code: string, message: string, param: string | null = null) => ({
    problem: { code, line: number, message, param },
  });
  if (text === undefined) return problem('line_too_long', `The line has more than ${longestLine} bytes.`);
  let value: unknown;
  try {
    value = JSON.parse(text.toString('utf8'));
  } catch {
    return problem('invalid_json_line', 'The line is not valid JSON.');
  }
  if (!isObject(value)) return problem('invalid_json_line', 'The line is not a JSON object.');
  const { custom_id: customId, method, url, body } = value;
  if (typeof customId !== 'string' || customId === '')
    return problem('missing_required_parameter', "The line has no 'custom_id'.", 'custom_id');
  if (customId.length > longestCustomId)
    return problem('string_above_max_length', "'custom_id' is too long.", 'custom_id');
  if (method !== 'POST') return problem('invalid_method', "'method' must be POST.", 'method');
  if (url !== endpoint)
    return problem('mismatched_endpoint', `'url' must be ${endpoint}, as the batch says.`, 'url');
  if (!isObject(body)) return problem('missing_required_parameter', "The line has no 'body'.", 'body');
  if (body['stream'] === true)
    return problem('unsupported_value', "A line cannot be streamed: leave 'stream' out.", 'body.stream');
  const json = printedJson(body);
  if (json === undefined) return problem('invalid_json_line', 'The body is nested too deeply.', 'body');
  return { line: { number, customId, body: json, isKept: body['store'] === true } };
}

/** Undefined for what is nested more deeply than it can be printed. Parsing has no such bound. */
function printedJson(body: object): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new TextEncoder().encode(JSON.stringify(body));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
