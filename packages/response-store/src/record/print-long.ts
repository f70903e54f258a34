import { randomUUID } from 'node:crypto';
import { setImmediate as breathe } from 'node:timers/promises';

/** JSON, or its bytes. */
export type Printed = string | Buffer;

/** A value with texts of so many characters is long: it takes a millisecond to print. */
const longFrom = 256 * 1024;

/** A turn of the event loop prints so many characters of a text. */
const charactersInATurn = 256 * 1024;

/** A turn of the event loop prints so many elements of a list. */
const elementsInATurn = 256;

/** Texts of more characters than this, and lists of more elements, are printed apart. */
const apartFrom = { characters: 4 * 1024, elements: elementsInATurn };

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
 * Prints a long value as `JSON.stringify` does, in pieces, each in a turn of the event loop. The value must not change
 * meanwhile.
 */
export async function printLong(value: unknown): Promise<Buffer> {
  const mark = randomUUID();
  const apart: (string | unknown[])[] = [];
  const hollow = JSON.stringify(value, (_key, each: unknown) => {
    if (!isPrintedApart(each)) return each;
    apart.push(each);
    return mark;
  });
  const pieces: Buffer[] = [];
  for (const [at, short] of hollow.split(`"${mark}"`).entries()) {
    pieces.push(Buffer.from(short));
    const long = apart[at];
    if (typeof long === 'string') await printText(long, pieces);
    else if (long) await printList(long, pieces);
  }
  return Buffer.concat(pieces);
}

/** Elements of a long list are printed whole, so they are small ones: the tokens of a text and how likely they are. */
function isPrintedApart(value: unknown): value is string | unknown[] {
  if (typeof value === 'string') return value.length > apartFrom.characters;
  return (
    Array.isArray(value) &&
    value.length > apartFrom.elements &&
    value.every((element) => typeof element === 'object' && element !== null && 'logprob' in element)
  );
}

async function printText(text: string, pieces: Buffer[]): Promise<void> {
  pieces.push(quote);
  for (let at = 0; at < text.length; ) {
    let to = at + charactersInATurn;
    // Both halves of a pair stay together.
    if (isHighSurrogate(text.charCodeAt(to - 1))) to += 1;
    pieces.push(Buffer.from(JSON.stringify(text.slice(at, to)).slice(1, -1)));
    at = to;
    await breathe();
  }
  pieces.push(quote);
}

async function printList(list: readonly unknown[], pieces: Buffer[]): Promise<void> {
  for (let at = 0; at < list.length; at += elementsInATurn) {
    const printed = JSON.stringify(list.slice(at, at + elementsInATurn)).slice(1, -1);
    pieces.push(Buffer.from(`${at === 0 ? '[' : ','}${printed}`));
    await breathe();
  }
  pieces.push(Buffer.from(']'));
}

const quote = Buffer.from('"');

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
