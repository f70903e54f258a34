import { isObject, type JsonObject, listOf } from '../json-fields.ts';
import { sameJson, type Spend, spendOn } from './same-json.ts';

/**
 * Merges two schemas into one that demands what both demand, as far as a single level can express it.
 *
 * The stricter limit applies, required names add up, allowed values and types are intersected, and a member of both
 * must satisfy both. A keyword of one schema alone is kept. Where two cannot be merged (`not`, `pattern`, a second
 * `anyOf`), the later one goes into `allOf`, to be checked against the finished value. Comparing values is paid for
 * with `spend`; without budget they count as different.
 */
export function mergeSchemas(first: JsonObject, second: JsonObject, spend: Spend): JsonObject {
  const merged: JsonObject = { ...first };
  const unresolved: unknown[] = [...listOf(first['allOf'])];
  for (const [keyword, value] of Object.entries(second)) {
    const before = Object.hasOwn(merged, keyword) ? merged[keyword] : undefined;
    if (keyword === 'allOf') unresolved.push(...listOf(value));
    else if (before === undefined) merged[keyword] = value;
    else if (!join(merged, keyword, before, value, spend)) unresolved.push({ [keyword]: value });
  }
  if (unresolved.length > 0) merged['allOf'] = unresolved;
  return merged;
}

/** Merges one keyword of both into `merged`; false when a single level cannot express it. */
function join(merged: JsonObject, keyword: string, before: unknown, value: unknown, spend: Spend): boolean {
  switch (keyword) {
    case 'properties':
      if (isObject(before) && isObject(value)) merged[keyword] = mergeMembers(before, value);
      return true;
    case 'required':
      merged[keyword] = [...new Set([...listOf(before), ...listOf(value)])];
      return true;
    case 'type':
      merged[keyword] = commonTypes(before, value);
      return true;
    case 'enum': {
      if (before === value) return true;
      if (!spendOn(before, spend) || !spendOn(value, spend)) return false;
      const known = new Set(listOf(value).map((each) => JSON.stringify(each)));
      merged[keyword] = listOf(before).filter((each) => known.has(JSON.stringify(each)));
      return true;
    }
    case 'items':
    case 'additionalProperties':
      merged[keyword] = { allOf: [before, value] };
      if (before === false || value === false) merged[keyword] = false;
      return true;
    case 'minimum':
    case 'exclusiveMinimum':
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      merged[keyword] = limit(before, value, Math.max);
      return true;
    case 'maximum':
    case 'exclusiveMaximum':
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      merged[keyword] = limit(before, value, Math.min);
      return true;
    case 'uniqueItems':
      merged[keyword] = before === true || value === true;
      return true;
    case 'title':
    case 'description':
    case 'default':
    case 'examples':
    case '$defs':
    case 'definitions':
    case '$comment':
      return true;
    default:
      return sameJson(before, value, spend);
  }
}

function mergeMembers(first: JsonObject, second: JsonObject): JsonObject {
  const entries = Object.entries(second).map(([name, schema]) => [
    name,
    Object.hasOwn(first, name) ? { allOf: [first[name], schema] } : schema,
  ]);
  // Built from entries, so that `__proto__` is a member like any other.
  return Object.fromEntries([...Object.entries(first), ...entries]);
}

/** The types that both allow, where `number` includes `integer`. Nothing satisfies an empty list. */
function commonTypes(first: unknown, second: unknown): unknown[] {
  const one = Array.isArray(first) ? first : [first];
  const other = new Set<unknown>(Array.isArray(second) ? second : [second]);
  return one.flatMap((type) => {
    if (other.has(type)) return [type];
    if (type === 'number' && other.has('integer')) return ['integer'];
    return type === 'integer' && other.has('number') ? ['integer'] : [];
  });
}

function limit(before: unknown, value: unknown, stricter: (a: number, b: number) => number): unknown {
  if (typeof before !== 'number') return value;
  return typeof value === 'number' ? stricter(before, value) : before;
}
