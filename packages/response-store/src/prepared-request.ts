import { createHash, type Hash } from 'node:crypto';
import { canonicalJson, type CreateResponse, type InputItem, type ToolItem } from '@sluice/contract';
import type { StoredRequest } from './record/record.ts';

/**
 * A valid request in the form in which it is accepted. It is plain data that a thread can send: whoever takes the
 * request in needs no part of a large input but its bytes.
 */
export interface PreparedRequest {
  request: StoredRequest;
  /** The same as JSON. */
  requestJson: string;
  /** The input as JSON: a text, or the UTF-8 bytes of one. */
  input: string | Uint8Array;
  /** What of the input points at other items, in its order. */
  links: InputLink[];
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
  input.forEach((item, index) => {
    printed.add(index === 0 ? '[' : ',');
    const start = printed.length;
    printed.add(JSON.stringify(item));
    const link = linkOf(item, start, printed.length);
    if (link) links.push(link);
    hash?.update(',').update(canonicalJson(item));
  });
  printed.add(input.length === 0 ? '[]' : ']');
  return {
    request,
    requestJson: JSON.stringify(request),
    input: printed.whole(),
    links,
    digest: hash?.digest('base64url'),
  };
}

/** The input with the JSON of an item in the place of each reference to it. */
export function replaceReferences(
  { input, links }: Pick<PreparedRequest, 'input' | 'links'>,
  jsonOf: (itemId: string) => string,
): string | Uint8Array {
  const references = links.filter((link) => link.type === 'item_reference');
  if (typeof input === 'string') {
    return spliced(references, input.length, (from, to) => input.slice(from, to), jsonOf).join('');
  }
  const slice = (from: number, to: number) => input.subarray(from, to);
  return Buffer.concat(spliced(references, input.length, slice, (id) => Buffer.from(jsonOf(id))));
}

/** The pieces of an input between its references, and what stands in for each of them. */
function spliced<Piece>(
  references: readonly ItemReference[],
  length: number,
  slice: (from: number, to: number) => Piece,
  pieceOf: (itemId: string) => Piece,
): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const { id, start, end } of references) {
    pieces.push(slice(at, start), pieceOf(id));
    at = end;
  }
  pieces.push(slice(at, length));
  return pieces;
}

/**
 * Begins the digest of a request: everything but how the answer is delivered, so that a caller may come back for it in
 * another mode.
 */
function digestOf({ stream: _, stream_options: __, ...rest }: StoredRequest): Hash {
  return createHash('sha256').update(canonicalJson(rest));
}

function linkOf(item: InputItem, start: number, end: number): InputLink | undefined {
  switch (item.type) {
    case 'item_reference':
      return { type: item.type, id: item.id, start, end };
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
