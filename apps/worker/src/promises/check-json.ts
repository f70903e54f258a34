import { Validator } from '@cfworker/json-schema';
import { dialectOf, plainSchema } from '@sluice/contract';

/** A text of a model that was promised to be JSON and to satisfy a strict schema. */
export interface JsonCheck {
  text: string;
  /** As it was accepted. */
  schema: Record<string, unknown>;
}

export type JsonVerdict = 'satisfied' | 'not_json' | 'not_satisfied' | 'unknown';

/**
 * Most values in a text that is parsed here. A parser fills a heap in one go, which ends the process and not only the thread:
 * eight million empty lists take 24 MB as text, and 400 MB in memory. No model gives that many values in one answer.
 */
const mostValues = 200_000;
const mostCharacters = 16 * 1024 * 1024;

/**
 * Finds out whether a text keeps the promise. `unknown` if that cannot be found out: the value is too large, or nests too
 * deeply.
 *
 * The time it takes has no good bound: alternatives of a schema that refers to itself multiply with the depth of the value.
 */
export function checkJson({ text, schema }: JsonCheck): JsonVerdict {
  if (isTooLarge(text)) return 'unknown';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not_json';
  }
  try {
    // A copy: the validator notes addresses in the schemas that it is given.
    const plain = plainSchema(schema) as Record<string, unknown>; // an object remains one
    const { valid } = new Validator(plain, dialectOf(schema) ?? '2020-12').validate(value);
    return valid ? 'satisfied' : 'not_satisfied';
  } catch {
    // The error is dropped, because it may quote the schema or the value.
    return 'unknown';
  }
}

/** Counts the values of a JSON text before it is parsed. The count of any other text means nothing. */
function isTooLarge(text: string): boolean {
  if (text.length > mostCharacters) return true;
  let values = 0;
  for (let at = 0; at < text.length && values <= mostValues; at += 1) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at);
        break;
      case ',':
      case ':':
      case '[':
      case '{':
        values += 1;
        break;
      default:
    }
  }
  return values > mostValues;
}

/** Position of the quote that ends a string; the end of the text when none does. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '"') return at;
    if (text[at] === '\\') at += 1;
  }
  return text.length;
}
