import { isObject, type JsonObject, listOf } from '../json-fields.ts';
import { mergeSchemas } from './merge-schemas.ts';

/**
 * A walk over an untrusted schema with a fixed budget of work.
 *
 * Every schema visited and every sixteen characters made cost one. Listing, copying and comparing cost by size. Once
 * the budget is used up everything fails, so a schema that refers to itself or grows on the way costs tens of
 * milliseconds at most.
 */
export class SchemaWalk {
  readonly #root: unknown;
  #left: number;

  constructor(root: unknown, work: number) {
    this.#root = root;
    this.#left = work;
  }

  /** Takes work from the budget; false when it is used up. */
  spend(work: number = 1): boolean {
    this.#left -= work;
    return this.#left >= 0;
  }

  /** The schema with `$ref` and `allOf` merged in; undefined when nothing satisfies it or its target is missing. */
  resolve(schema: unknown, depth: number = 0): JsonObject | undefined {
    if (!this.spend() || depth > 64) return undefined;
    if (schema === true) return {};
    if (!isObject(schema)) return undefined;
    // Names and types are read on every visit, and a schema may repeat them at no other cost.
    const listed = listOf(schema['type']).length + listOf(schema['required']).length;
    if (!this.spend(listed / 8)) return undefined;
    if (schema['$ref'] === undefined && schema['allOf'] === undefined) return schema;
    const { $ref: ref, allOf: parts, ...own } = schema;
    let merged: JsonObject = own;
    const others = [...(ref === undefined ? [] : [this.#lookUp(ref)]), ...listOf(parts)];
    const unresolved: unknown[] = [];
    for (const other of others) {
      const resolved = this.resolve(other, depth + 1);
      if (!resolved || !this.spend(sizeOf(resolved) + sizeOf(merged) / 2)) return undefined;
      const { allOf: rest, ...joined } = mergeSchemas(merged, resolved, (cost) => this.spend(cost));
      merged = joined;
      unresolved.push(...listOf(rest));
    }
    // Constraints that could not be merged are checked against the finished value.
    return unresolved.length > 0 ? { ...merged, unresolved } : merged;
  }

  /** Follows `#` and JSON pointers below it. Other references are not followed, so a schema cannot fetch anything. */
  #lookUp(ref: unknown): unknown {
    if (typeof ref !== 'string' || !/^#(?:\/|$)/.test(ref)) return undefined;
    if (!this.spend(ref.length / 16)) return undefined;
    let found = this.#root;
    for (const segment of ref.split('/').slice(1)) {
      const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
      // The check above makes this cast safe: the value is an object or a list with this member.
      found = (found as JsonObject)[key];
    }
    return found;
  }
}

/** The cost of copying a schema: its keywords, and the members and values they list. Comparing costs extra. */
function sizeOf(schema: JsonObject): number {
  let size = 0;
  for (const value of Object.values(schema)) {
    size += 1;
    if (typeof value === 'object' && value !== null) size += Object.keys(value).length;
  }
  return size;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Length as JSON Schema counts it: in code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}
