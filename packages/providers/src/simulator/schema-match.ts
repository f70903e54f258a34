import { isObject, type JsonObject, listOf } from '../json-fields.ts';
import { sameJson, type Spend, spendOn } from './same-json.ts';
import { lengthOf, type SchemaWalk } from './schema-walk.ts';

/**
 * Whether a value satisfies a schema, by the keywords that examples are made from.
 *
 * `pattern`, `format`, `patternProperties`, `if` and the like are ignored: a pattern is a program of the client, and
 * none is run here. Returns false when the budget is used up.
 */
export function matchesSchema(value: unknown, schema: unknown, walk: SchemaWalk): boolean {
  if (schema === true) return walk.spend();
  const resolved = walk.resolve(schema);
  if (!resolved) return false;
  return (
    matchesType(value, resolved) &&
    matchesChoices(value, resolved, walk) &&
    (typeof value !== 'number' || matchesNumber(value, resolved)) &&
    (typeof value !== 'string' || matchesString(value, resolved, walk)) &&
    (!Array.isArray(value) || matchesList(value, resolved, walk)) &&
    (!isObject(value) || matchesObject(value, resolved, walk))
  );
}

function matchesType(value: unknown, { type, nullable }: JsonObject): boolean {
  if (type === undefined || (value === null && nullable === true)) return true;
  const types = Array.isArray(type) ? type : [type];
  return types.some((each) => {
    if (each === 'null') return value === null;
    if (each === 'array') return Array.isArray(value);
    if (each === 'object') return isObject(value);
    if (each === 'integer') return Number.isInteger(value);
    return typeof value === each;
  });
}

function matchesChoices(value: unknown, schema: JsonObject, walk: SchemaWalk): boolean {
  const { const: constant, enum: choices, anyOf, oneOf, not, unresolved } = schema;
  const spend: Spend = (cost) => walk.spend(cost);
  if (constant !== undefined && !sameJson(value, constant, spend)) return false;
  if (Array.isArray(choices) && !choices.some((choice) => sameJson(value, choice, spend))) return false;
  if (Array.isArray(anyOf) && !anyOf.some((branch) => matchesSchema(value, branch, walk))) return false;
  if (Array.isArray(oneOf) && oneOf.filter((branch) => matchesSchema(value, branch, walk)).length !== 1)
    return false;
  if (not !== undefined && matchesSchema(value, not, walk)) return false;
  if (!listOf(unresolved).every((part) => matchesSchema(value, part, walk))) return false;
  // Without budget nothing matches, which `not` and `oneOf` must not take for an answer.
  return walk.spend(0);
}

function matchesNumber(value: number, schema: JsonObject): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && (exclusiveMinimum === true ? value <= minimum : value < minimum))
    return false;
  if (typeof maximum === 'number' && (exclusiveMaximum === true ? value >= maximum : value > maximum))
    return false;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return false;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return false;
  if (typeof multipleOf !== 'number' || !(multipleOf > 0)) return true;
  const times = value / multipleOf;
  return Math.abs(times - Math.round(times)) < 1e-9;
}

function matchesString(value: string, { minLength, maxLength }: JsonObject, walk: SchemaWalk): boolean {
  if (!walk.spend(Math.ceil(value.length / 16))) return false;
  const length = lengthOf(value);
  return (
    !(typeof minLength === 'number' && length < minLength) &&
    !(typeof maxLength === 'number' && length > maxLength)
  );
}

function matchesList(value: unknown[], schema: JsonObject, walk: SchemaWalk): boolean {
  const { minItems, maxItems, items, prefixItems, additionalItems, uniqueItems } = schema;
  if (typeof minItems === 'number' && value.length < minItems) return false;
  if (typeof maxItems === 'number' && value.length > maxItems) return false;
  if (uniqueItems === true) {
    if (!spendOn(value, (cost) => walk.spend(cost))) return false;
    if (new Set(value.map((each) => JSON.stringify(each))).size < value.length) return false;
  }
  const prefix = Array.isArray(items) ? items : listOf(prefixItems);
  const rest = Array.isArray(items) ? additionalItems : items;
  return value.every((each, at) =>
    matchesSchema(each, at < prefix.length ? prefix[at] : (rest ?? true), walk),
  );
}

function matchesObject(value: JsonObject, schema: JsonObject, walk: SchemaWalk): boolean {
  const { required, additionalProperties, minProperties, maxProperties } = schema;
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const names = Object.keys(value);
  if (!walk.spend(names.length / 8)) return false;
  if (typeof minProperties === 'number' && names.length < minProperties) return false;
  if (typeof maxProperties === 'number' && names.length > maxProperties) return false;
  if (!listOf(required).every((name) => typeof name === 'string' && Object.hasOwn(value, name))) return false;
  return names.every((name) => {
    if (Object.hasOwn(properties, name)) return matchesSchema(value[name], properties[name], walk);
    return additionalProperties === undefined || matchesSchema(value[name], additionalProperties, walk);
  });
}
