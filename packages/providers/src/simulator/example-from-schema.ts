import { exampleNumber, exampleString } from './example-values.ts';
import { isObject, type JsonObject, listOf } from '../json-fields.ts';
import { matchesSchema } from './schema-match.ts';
import { SchemaWalk } from './schema-walk.ts';

/** The budget of a `SchemaWalk`. A schema of a few hundred members needs a few thousand. */
const work = 50_000;
/** Deepest nesting of an example. Optional members stop at `comfortableDepth`. */
const maxDepth = 32;
const comfortableDepth = 2;
const maxOptional = 64;
const maxGiven = 128;

/**
 * A value that satisfies a JSON schema, always the same one; undefined when none was found.
 *
 * It supports types, `nullable`, `enum`, `const`, `default`, `examples`, members and their counts, lists and tuples,
 * lengths, formats, plain patterns, number ranges and steps, `anyOf`, `oneOf`, `allOf`, `not` and local `$ref`. The work is bounded for every schema: see `SchemaWalk`.
 */
export function exampleFromSchema(schema: unknown): unknown {
  return make(schema, { walk: new SchemaWalk(schema, work), depth: 0, variant: 0 });
}

/** The place in the value for which an example is being made. */
interface Place {
  walk: SchemaWalk;
  depth: number;
  /** Position in a list, so that its values can differ. */
  variant: number;
}

function make(schema: unknown, place: Place): unknown {
  if (place.depth > maxDepth) return undefined;
  const { walk } = place;
  const resolved = walk.resolve(schema);
  if (!resolved) return undefined;
  for (const value of candidates(resolved, place)) {
    if (value === undefined) continue;
    if (!needsCheck(resolved, value) || matchesSchema(value, resolved, walk)) return value;
  }
  return undefined;
}

/** Objects and lists are right by construction unless one of these keywords applies. Other values are checked. */
function needsCheck(schema: JsonObject, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return ['const', 'enum', 'default', 'examples', 'anyOf', 'oneOf', 'not', 'unresolved'].some(
    (keyword) => schema[keyword] !== undefined,
  );
}

function* candidates(schema: JsonObject, place: Place): Generator<unknown, void, undefined> {
  const { walk, depth, variant } = place;
  const { const: constant, enum: choices } = schema;
  if (constant !== undefined) {
    yield* given([constant], walk);
    return;
  }
  if (Array.isArray(choices)) {
    const from = choices.length === 0 ? 0 : variant % choices.length;
    yield* given([...choices.slice(from, from + maxGiven), ...choices.slice(0, maxGiven)], walk);
    return;
  }
  if (variant === 0) yield* given([schema['default'], ...listOf(schema['examples'])], walk);
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = schema[keyword];
    if (!Array.isArray(branches)) continue;
    const { [keyword]: _, ...rest } = schema;
    for (const branch of inOrder(branches, depth)) yield make({ allOf: [rest, branch] }, place);
    return;
  }
  for (const type of typesOf(schema)) yield ofType(type, schema, place);
}

/** Values taken from the schema are paid for by their length: a schema that repeats them could grow without limit. */
function* given(values: unknown[], walk: SchemaWalk): Generator<unknown, void, undefined> {
  for (const value of values.slice(0, 2 * maxGiven)) {
    if (value === undefined) continue;
    if (!walk.spend(1 + Math.ceil(JSON.stringify(value).length / 16))) return;
    yield value;
  }
}

/** Below a comfortable depth, branches that end come first, so that a recursive list or tree stays small. */
function inOrder(branches: unknown[], depth: number): unknown[] {
  if (depth <= comfortableDepth) return branches;
  return [...branches.filter((branch) => !grows(branch)), ...branches.filter(grows)];
}

function grows(branch: unknown): boolean {
  if (!isObject(branch)) return false;
  return branch['$ref'] !== undefined || branch['type'] === 'object' || branch['type'] === 'array';
}

/** The types to try: the named ones with `null` last, or else those that the other keywords imply. */
function typesOf(schema: JsonObject): string[] {
  const { type } = schema;
  if (type !== undefined) {
    const named = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string');
    const valued = named.filter((each) => each !== 'null');
    return valued.length < named.length || schema['nullable'] === true ? [...valued, 'null'] : valued;
  }
  const has = (...keywords: string[]) => keywords.some((keyword) => schema[keyword] !== undefined);
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return ['object'];
  if (has('items', 'prefixItems', 'minItems', 'uniqueItems')) return ['array'];
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number'];
  return ['string', 'integer', 'object', 'boolean', 'null'];
}

function ofType(type: string, schema: JsonObject, place: Place): unknown {
  const { walk, variant } = place;
  switch (type) {
    case 'object':
      return makeObject(schema, place);
    case 'array':
      return makeList(schema, place);
    case 'string': {
      const text = exampleString(schema, variant);
      return text !== undefined && walk.spend(Math.ceil(text.length / 16)) ? text : undefined;
    }
    case 'integer':
    case 'number':
      return exampleNumber(schema, type === 'integer', place);
    case 'boolean':
      return variant % 2 === 0;
    case 'null':
      return null;
    default:
      return undefined;
  }
}

function makeObject(schema: JsonObject, place: Place): JsonObject | undefined {
  const { walk, depth } = place;
  const inside = { ...place, depth: depth + 1 };
  const { additionalProperties: others = true, minProperties, maxProperties } = schema;
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const names = Object.keys(properties);
  if (!walk.spend(Math.ceil(names.length / 8))) return undefined;
  const required = new Set(listOf(schema['required']).map(String));
  const most = typeof maxProperties === 'number' ? maxProperties : Number.POSITIVE_INFINITY;
  const members = new Map<string, unknown>();
  for (const name of required) {
    const value = make(Object.hasOwn(properties, name) ? properties[name] : others, inside);
    if (value === undefined) return undefined;
    members.set(name, value);
  }
  const optional = names.filter((name) => !required.has(name));
  const wanted = depth <= comfortableDepth ? optional.slice(0, maxOptional) : [];
  for (const name of wanted) {
    if (members.size >= most) break;
    const value = make(properties[name], inside);
    if (value !== undefined) members.set(name, value);
  }
  const least = typeof minProperties === 'number' ? minProperties : 0;
  const spare = optional.slice(wanted.length);
  for (let at = 1; members.size < least; at += 1) {
    const name = spare[at - 1] ?? `key${at}`;
    const value = make(Object.hasOwn(properties, name) ? properties[name] : others, {
      ...inside,
      variant: at,
    });
    if (value === undefined) return undefined;
    members.set(name, value);
  }
  return members.size > most ? undefined : Object.fromEntries(inSchemaOrder(members, properties));
}

/** Members in the order in which the schema lists them, as a model would write them. */
function inSchemaOrder(members: Map<string, unknown>, properties: JsonObject): [string, unknown][] {
  const listed = Object.keys(properties).filter((name) => members.has(name));
  const others = [...members.keys()].filter((name) => !Object.hasOwn(properties, name));
  return [...listed, ...others].map((name) => [name, members.get(name)]);
}

function makeList(schema: JsonObject, place: Place): unknown[] | undefined {
  const { walk, depth } = place;
  const { items, prefixItems, additionalItems, minItems, maxItems, uniqueItems } = schema;
  const prefix = Array.isArray(items) ? items : listOf(prefixItems);
  const rest = (Array.isArray(items) ? additionalItems : items) ?? true;
  const least = typeof minItems === 'number' ? minItems : 0;
  const most = typeof maxItems === 'number' ? maxItems : Number.POSITIVE_INFINITY;
  const wanted = Math.max(least, prefix.length, depth <= comfortableDepth ? 1 : 0);
  const list: unknown[] = [];
  const seen = new Set<string>();
  // A list of distinct values may have to skip duplicates; it gives up after about as many attempts again.
  for (let at = 0; list.length < Math.min(wanted, most) && at < 2 * wanted + 8; at += 1) {
    const value = make(list.length < prefix.length ? prefix[list.length] : rest, {
      walk,
      depth: depth + 1,
      variant: at,
    });
    if (value === undefined) break;
    if (uniqueItems === true) {
      const text = JSON.stringify(value);
      if (seen.has(text)) continue;
      seen.add(text);
    }
    list.push(value);
  }
  return list.length < least ? undefined : list;
}
