import { createHash, type Hash } from 'node:crypto';
import {
  canonicalJson,
  type CreateResponse,
  estimateInputTokens,
  type InputItem,
  type ToolItem,
} from '@sluice/contract';
import { type FileReference, fileReferencesIn } from './file-references.ts';
import { type MediaUrls, mediaUrlsIn } from './media-urls.ts';
import type { StoredRequest } from './record/record.ts';

/**
 * A valid request in the form in which it is accepted. It is plain data that a thread can send: the process that takes the
 * request in needs no part of a large input but its bytes.
 */
export interface PreparedRequest {
  request: StoredRequest;
  /** The same as JSON. */
  requestJson: string;
  /** The input as JSON: a text, or the UTF-8 bytes of one. */
  input: string | Uint8Array;
  /** About as many tokens as the request has, without what it refers to. */
  inputTokens: number;
  /** The items of the input that point at other items, in its order. */
  links: InputLink[];
  /** The parts of the input that name files, in its order; absent without any. */
  files?: FileReference[] | undefined;
  /** Absent without any. */
  mediaUrls?: MediaUrls | undefined;
  /**
   * The stored response that it continues from. The request names the same one, unless what that stands for is in the input
   * already.
   */
  previousId: string | undefined;
  /** Equal for requests that ask for the same; undefined when nobody wanted to know. */
  digest: string | undefined;
}

/** An item that needs another one: a tool call, the output of one, or a reference. */
export type InputLink = ToolItem | ItemReference;

export interface ItemReference {
  type: 'item_reference';
  id: string;
  /** Where it stands in the JSON of the input, in characters of the text or in bytes. */
  start: number;
  end: number;
}

export interface PreparationOptions {
  /** Whether the request has an Idempotency-Key, under which it is compared with others. */
  withDigest: boolean;
  /** Makes bytes of the input. They are expected to be about this many. */
  inputBytes?: number;
}

/** Prepares a request. The items of its input are printed one by one, so that a large input is in memory once more, not twice. */
export function prepareRequest(
  { input, ...request }: CreateResponse,
  { withDigest, inputBytes }: PreparationOptions,
): PreparedRequest {
  const printed = inputBytes === undefined ? new PrintedText() : new PrintedBytes(inputBytes);
  const hash = withDigest ? digestOf(request) : undefined;
  const links: InputLink[] = [];
  const files: FileReference[] = [];
  const mediaUrls = mediaUrlsIn(input);
  input.forEach((item, index) => {
    printed.add(index === 0 ? '[' : ',');
    const start = printed.length;
    const json = JSON.stringify(item);
    printed.add(json);
    const inItem = fileReferencesIn(item, json, { from: start, index, sizeOf: printed.sizeOf });
    // One by one: as arguments of one call, hundreds of thousands do not fit the stack.
    for (const file of inItem) files.push(file);
    const link = linkOf(item, start, printed.length);
    if (link) links.push(link);
    hash?.update(',').update(canonicalJson(item));
  });
  printed.add(input.length === 0 ? '[]' : ']');
  return {
    request,
    requestJson: JSON.stringify(request),
    input: printed.whole(),
    inputTokens: estimateInputTokens({ input, instructions: request.instructions, tools: request.tools }),
    links,
    ...(files.length > 0 && { files }),
    ...(mediaUrls && { mediaUrls }),
    previousId: request.previous_response_id,
    digest: hash?.digest('base64url'),
  };
}

/** JSON, a text or the bytes of one, and where in the input it is to stand. */
export interface Replacement {
  start: number;
  end: number;
  json: string | Uint8Array;
}

/** The input with JSON in the place of what stands there. */
export function replaceIn(
  input: string | Uint8Array,
  replacements: readonly Replacement[],
): string | Uint8Array {
  const pieces: (string | Uint8Array)[] = [];
  let at = 0;
  for (const { start, end, json } of replacements.toSorted((one, other) => one.start - other.start)) {
    pieces.push(pieceOf(input, at, start), json);
    at = end;
  }
  pieces.push(pieceOf(input, at, input.length));
  const texts = pieces.filter((piece) => typeof piece === 'string');
  if (texts.length === pieces.length) return texts.join('');
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

function pieceOf(input: string | Uint8Array, from: number, to: number): string | Uint8Array {
  return typeof input === 'string' ? input.slice(from, to) : input.subarray(from, to);
}

/**
 * Begins the digest of a request: everything but how the answer is delivered, so that a caller may come back for it in
 * another mode, and but marks for caches, which change nothing of the answer.
 */
function digestOf({ stream: _, stream_options: __, cache_breakpoints: ___, ...rest }: StoredRequest): Hash {
  return createHash('sha256').update(canonicalJson(rest));
}

function linkOf(item: InputItem, start: number, end: number): InputLink | undefined {
  return item.type === 'item_reference' ? { type: item.type, id: item.id, start, end } : toolLinkOf(item);
}

/** The tool call that an item is, or belongs to; undefined for any other item. */
export function toolLinkOf(item: InputItem): ToolItem | undefined {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
      return { type: item.type, call_id: item.call_id };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { type: item.type, call_id: item.call_id };
    default:
      return undefined;
  }
}

class PrintedText {
  #text = '';

  readonly sizeOf = (text: string): number => text.length;

  get length(): number {
    return this.#text.length;
  }

  add(json: string): void {
    this.#text += json;
  }

  whole(): string {
    return this.#text;
  }
}

class PrintedBytes {
  #bytes: Buffer;
  #length = 0;

  readonly sizeOf = (text: string): number => Buffer.byteLength(text);

  constructor(expected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(expected);
  }

  get length(): number {
    return this.#length;
  }

  add(json: string): void {
    // Three bytes is the most that a UTF-16 code unit takes.
    if (this.#length + 3 * json.length > this.#bytes.length) this.#makeRoom(Buffer.byteLength(json));
    this.#length += this.#bytes.write(json, this.#length);
  }

  whole(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.ceil(needed * 1.25));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
