/**
 * The limits of any body. Each bounds a cost that the size of a body does not: a parser makes an object of two bytes and a
 * number of five.
 */
export const structureLimits = {
  /** Deepest nesting. Whatever walks the value later may recurse safely. */
  depth: 64,
  /** Most members of one object and most elements of one list. */
  children: 10_000,
  /** Most members and elements over all levels: an `input` of 4,096 items has room for eleven in each. */
  total: 50_000,
  /** Most bytes outside of strings: punctuation, numbers and white space. */
  outsideStrings: 4 * 1024 * 1024,
} as const;

/** The result of a scan. `bytes` is how far it went. */
export type StructureScan =
  /** `members` counts the members of all objects; one that is named twice counts twice. `total` counts elements of lists, too. */
  | { kind: 'within_limits'; members: number; total: number; bytes: number }
  | { kind: 'refused'; message: string; bytes: number };

const quote = 34;
const comma = 44;
const colon = 58;
const openBracket = 91;
const backslash = 92;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/**
 * Counts what is in a JSON text before anything is made of it, in one pass over its bytes, and stops at the first limit
 * that is passed. Strings are skipped: no byte of a longer UTF-8 character looks like a quote.
 *
 * It does not check the grammar. What it says of a text that is no JSON means nothing but that parsing it is affordable.
 */
export function scanStructure(json: Uint8Array): StructureScan {
  const { length } = json;
  /** Commas so far in each open object or list, one fewer than its children. */
  const commas = new Uint32Array(structureLimits.depth + 1);
  let depth = 0;
  let members = 0;
  let total = 0;
  let outside = 0;
  let isEmpty = true;
  for (let at = 0; at < length; at += 1) {
    const byte = json[at];
    if (byte === quote) {
      at = endOfString(json, at + 1);
      isEmpty = false;
      continue;
    }
    outside += 1;
    if (outside > structureLimits.outsideStrings) {
      return refused(`has more than ${structureLimits.outsideStrings} bytes outside of strings`, at);
    }
    switch (byte) {
      case openBrace:
      case openBracket:
        depth += 1;
        if (depth > structureLimits.depth) {
          return refused(`is nested deeper than ${structureLimits.depth} levels`, at);
        }
        commas[depth] = 0;
        isEmpty = true;
        break;
      case closeBrace:
      case closeBracket:
        if (!isEmpty) total += 1;
        if (depth > 0) depth -= 1;
        isEmpty = false;
        break;
      case comma: {
        total += 1;
        const behind = (commas[depth] ?? 0) + 1;
        commas[depth] = behind;
        if (behind >= structureLimits.children) {
          return refused(`has an object or a list with more than ${structureLimits.children} members`, at);
        }
        break;
      }
      case colon:
        members += 1;
        break;
      default:
        if (!isSpace(byte)) isEmpty = false;
    }
    if (total > structureLimits.total) {
      return refused(`has more than ${structureLimits.total} members in all`, at);
    }
  }
  return { kind: 'within_limits', members, total, bytes: length };
}

function refused(what: string, at: number): StructureScan {
  return { kind: 'refused', message: `The request body ${what}.`, bytes: at + 1 };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}

/** A string is looked at byte by byte for this long: a call to search it natively costs about as much. */
const shortString = 64;

/** Position of the quote that ends a string, given where its content begins; the length of the text when none does. */
function endOfString(json: Uint8Array, from: number): number {
  const { length } = json;
  let at = from;
  while (at < length) {
    for (const stop = Math.min(at + shortString, length); at < stop; at += 1) {
      const byte = json[at];
      if (byte === quote) return at;
      if (byte === backslash) at += 1;
    }
    const next = json.indexOf(quote, at);
    if (next === -1) return length;
    let slashes = 0;
    while (next - slashes > at && json[next - slashes - 1] === backslash) slashes += 1;
    if (slashes % 2 === 0) return next;
    at = next + 1;
  }
  return length;
}
