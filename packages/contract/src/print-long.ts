/** JSON, or its bytes. */
export type Printed = string | Buffer;

/** A value with so many characters is long: it takes a millisecond to print, so a turn of the event loop prints that much of one. */
const longFrom = 256 * 1024;

/** Whether printing a value takes so long that everything else in the process would feel it. */
export function isLong(value: unknown): boolean {
  return charactersOf(value, longFrom) > longFrom;
}

/**
 * About how many characters a value has in JSON. It is not counted on beyond `most`. Every event and end is counted, so arrays are
 * not walked by their keys, which takes four times as long.
 */
export function charactersOf(value: unknown, most = Number.POSITIVE_INFINITY): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let characters = 0;
  if (Array.isArray(value)) {
    for (const element of value) {
      characters += 1 + charactersOf(element, most - characters);
      if (characters > most) break;
    }
    return characters;
  }
  for (const key of Object.keys(value)) {
    characters += key.length + charactersOf(value[key as keyof typeof value], most - characters); // a key of its own
    if (characters > most) break;
  }
  return characters;
}

/**
 * Prints a long value as `JSON.stringify` does, in pieces, each in a turn of the event loop. The value is one that JSON has, and must not
 * change meanwhile.
 */
export async function printLong(value: unknown): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let text = '';
  for (const part of partsOf(value)) {
    text += part;
    if (text.length < longFrom) continue;
    pieces.push(Buffer.from(text));
    text = '';
    await breathe();
  }
  pieces.push(Buffer.from(text));
  return Buffer.concat(pieces);
}

/** The JSON of a value, in parts that are short enough to be printed in one turn. */
function* partsOf(value: unknown): Generator<string> {
  if (!isLong(value)) yield JSON.stringify(value) ?? 'null';
  else if (typeof value === 'string') yield* partsOfText(value);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfMembers(Object.entries(value as object)); // neither is long
}

function* partsOfText(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length; ) {
    let to = at + longFrom;
    // Both halves of a pair stay together.
    if (isHighSurrogate(text.charCodeAt(to - 1))) to += 1;
    yield JSON.stringify(text.slice(at, to)).slice(1, -1);
    at = to;
  }
  yield '"';
}

/** Short elements are printed many at once, which takes half of the time. */
function* partsOfList(list: readonly unknown[]): Generator<string> {
  let before = '[';
  let first = 0;
  let characters = 0;
  for (const [at, element] of list.entries()) {
    const more = charactersOf(element, longFrom);
    if (at > first && characters + more > longFrom) {
      yield before + printed(list.slice(first, at));
      before = ',';
      first = at;
      characters = 0;
    }
    characters += more;
    if (more <= longFrom) continue;
    yield before;
    yield* partsOf(element);
    before = ',';
    first = at + 1;
    characters = 0;
  }
  if (first < list.length) yield before + printed(list.slice(first));
  yield ']';
}

/** Elements as they stand between the brackets. */
function printed(elements: readonly unknown[]): string {
  return JSON.stringify(elements).slice(1, -1);
}

function* partsOfMembers(members: readonly [string, unknown][]): Generator<string> {
  let before = '{';
  for (const [name, value] of members) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* partsOf(value);
    before = ',';
  }
  yield '}';
}

/** Lets everything else in the process have a turn. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
