/** Reading members of JSON that somebody else wrote: a member of another type is as good as absent. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The string, or nothing for another type and for the empty string. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A token count: whole, not negative, and zero for anything that is no number. */
export function countOf(value: unknown): number {
  if (typeof value !== 'number' || !(value >= 0)) return 0;
  return Math.min(Math.trunc(value), Number.MAX_SAFE_INTEGER);
}

/** The object without the members that are `undefined` or `null`, as upstreams read both differently. */
export function present(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== null),
  );
}
