/** The form that the value of a keyword must have. A form with `schema` in its name holds schemas. */
export type KeywordForm =
  | 'any'
  | 'boolean'
  | 'count'
  | 'number'
  | 'positive_number'
  | 'string'
  | 'pattern'
  | 'reference'
  | 'string_list'
  | 'string_list_map'
  | 'types'
  | 'values'
  | 'schema'
  | 'schema_list'
  | 'schema_or_list'
  | 'schema_map'
  | 'schema_pattern_map'
  | 'schema_or_names_map';

interface Keyword {
  form: KeywordForm;
  /** Its schemas are applied to the very value that the schema is applied to, not to a part of it. */
  isInPlace?: true;
}

/**
 * KEYWORD TABLE: every keyword of JSON Schema that decides whether a value is valid, in drafts 6 to 2020-12.
 *
 * A keyword that is not here says nothing about values, or refers to schemas in a way that strict schemas may not.
 */
const keywordTable = {
  $defs: { form: 'schema_map' },
  definitions: { form: 'schema_map' },
  $ref: { form: 'reference' },
  type: { form: 'types' },
  enum: { form: 'values' },
  const: { form: 'any' },
  multipleOf: { form: 'positive_number' },
  maximum: { form: 'number' },
  exclusiveMaximum: { form: 'number' },
  minimum: { form: 'number' },
  exclusiveMinimum: { form: 'number' },
  maxLength: { form: 'count' },
  minLength: { form: 'count' },
  pattern: { form: 'pattern' },
  format: { form: 'string' },
  maxItems: { form: 'count' },
  minItems: { form: 'count' },
  uniqueItems: { form: 'boolean' },
  maxContains: { form: 'count' },
  minContains: { form: 'count' },
  prefixItems: { form: 'schema_list' },
  items: { form: 'schema_or_list' },
  additionalItems: { form: 'schema' },
  unevaluatedItems: { form: 'schema' },
  contains: { form: 'schema' },
  maxProperties: { form: 'count' },
  minProperties: { form: 'count' },
  required: { form: 'string_list' },
  properties: { form: 'schema_map' },
  patternProperties: { form: 'schema_pattern_map' },
  additionalProperties: { form: 'schema' },
  unevaluatedProperties: { form: 'schema' },
  propertyNames: { form: 'schema' },
  dependentRequired: { form: 'string_list_map' },
  dependentSchemas: { form: 'schema_map', isInPlace: true },
  dependencies: { form: 'schema_or_names_map', isInPlace: true },
  allOf: { form: 'schema_list', isInPlace: true },
  anyOf: { form: 'schema_list', isInPlace: true },
  oneOf: { form: 'schema_list', isInPlace: true },
  not: { form: 'schema', isInPlace: true },
  if: { form: 'schema', isInPlace: true },
  // oxlint-disable-next-line unicorn/no-thenable -- the name of a keyword; nobody awaits the table.
  then: { form: 'schema', isInPlace: true },
  else: { form: 'schema', isInPlace: true },
} as const satisfies Record<string, Keyword>;

const keywords = new Map<string, Keyword>(Object.entries(keywordTable));

export function keywordOf(name: string): Keyword | undefined {
  return keywords.get(name);
}

/** Keywords that give a schema another address or refer by one. A strict schema refers to its parts by their place. */
export const addressKeywords: ReadonlySet<string> = new Set([
  '$id',
  'id',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
]);

export type SchemaDialect = '7' | '2019-09' | '2020-12';

const dialects: ReadonlyMap<string, SchemaDialect> = new Map([
  ['http://json-schema.org/draft-06/schema', '7'],
  ['http://json-schema.org/draft-07/schema', '7'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
]);

/** The dialect of a schema, 2020-12 unless it says otherwise; undefined for one that is not known here. */
export function dialectOf(schema: Record<string, unknown>): SchemaDialect | undefined {
  const { $schema: uri } = schema;
  if (uri === undefined) return '2020-12';
  return typeof uri === 'string' ? dialects.get(uri.replace(/#$/, '')) : undefined;
}
