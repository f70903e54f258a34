/** Readers for members of untrusted JSON. A member of an unexpected type reads as absent. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/**
 * Parses the JSON of an object; undefined for any other text. The parser's own message is dropped, because it quotes the
 * text.
 */
export function parseObject(json: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(json));
  } catch {
    return undefined;
  }
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The string; undefined if the value is empty or of another type. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A token count: a whole number of zero or more. Anything that is not such a number counts as zero. */
export function countOf(value: unknown): number {
  if (typeof value !== 'number' || !(value >= 0)) return 0;
  return Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER);
}

/** The object without members that are `undefined` or `null`: upstreams disagree on what an explicit null means. */
export function present(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  );
}
