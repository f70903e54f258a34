import type { GrammarDefinitions, GrammarSchema } from './library.ts';

/**
 * Whether the grammar of a schema has alternatives that begin alike, such as two objects with the same first property. A
 * first property that is a constant tells them apart.
 *
 * A grammar follows every alternative that the text so far may belong to. References nest alternatives to any depth, and
 * each level doubles their number, until memory runs out.
 */
export function isAmbiguous(schema: GrammarSchema, definitions: GrammarDefinitions): boolean {
  const beginnings = new Beginnings(definitions);
  return [schema, ...Object.values(definitions)].some((each) => hasAlike(each, beginnings));
}

function hasAlike(schema: GrammarSchema, beginnings: Beginnings): boolean {
  return (
    ('oneOf' in schema && beginnings.of(schema) === undefined) ||
    childrenOf(schema).some((child) => hasAlike(child, beginnings))
  );
}

/** Tells apart alternatives that are objects or lists, by the beginnings that are always written. */
class Beginnings {
  readonly #definitions: GrammarDefinitions;
  /** Each definition is looked at once. Undefined: it is being looked at, or has alternatives that are alike. */
  readonly #ofDefinitions = new Map<string, readonly string[] | undefined>();

  constructor(definitions: GrammarDefinitions) {
    this.#definitions = definitions;
  }

  /** How a value of the schema can begin; undefined when two alternatives are alike. */
  of(schema: GrammarSchema): readonly string[] | undefined {
    if ('$ref' in schema) return this.#ofDefinition(schema.$ref.slice('#/$defs/'.length));
    if ('oneOf' in schema) return this.#ofAlternatives(schema.oneOf);
    if (isArray(schema)) return ['['];
    return isObject(schema) ? beginningsOfObject(schema) : [];
  }

  #ofDefinition(name: string): readonly string[] | undefined {
    if (this.#ofDefinitions.has(name)) return this.#ofDefinitions.get(name);
    this.#ofDefinitions.set(name, undefined);
    const definition = this.#definitions[name];
    const found = definition && this.of(definition);
    this.#ofDefinitions.set(name, found);
    return found;
  }

  #ofAlternatives(alternatives: readonly GrammarSchema[]): readonly string[] | undefined {
    const all: string[] = [];
    for (const alternative of alternatives) {
      const beginnings = this.of(alternative);
      if (!beginnings) return undefined;
      all.push(...beginnings);
    }
    const sorted = all.toSorted();
    const areAlike = sorted.some((each, index) => index > 0 && each.startsWith(sorted[index - 1] ?? ''));
    return areAlike ? undefined : all;
  }
}

type ObjectSchema = Extract<GrammarSchema, { type: 'object' }>;
type ArraySchema = Extract<GrammarSchema, { type: 'array' }>;

function isObject(schema: GrammarSchema): schema is ObjectSchema {
  return 'type' in schema && schema.type === 'object';
}

function isArray(schema: GrammarSchema): schema is ArraySchema {
  return 'type' in schema && schema.type === 'array';
}

function beginningsOfObject({ properties = {} }: ObjectSchema): string[] {
  const [first] = Object.entries(properties);
  if (!first) return ['{'];
  const [name, value] = first;
  const beginning = `{${JSON.stringify(name)}:`;
  if ('const' in value) return [`${beginning}${JSON.stringify(value.const)},`];
  if ('enum' in value) return value.enum.map((each) => `${beginning}${JSON.stringify(each)},`);
  return [beginning];
}

function childrenOf(schema: GrammarSchema): readonly GrammarSchema[] {
  if ('oneOf' in schema) return schema.oneOf;
  if (isArray(schema)) {
    const { items, prefixItems = [] } = schema;
    return items ? [items, ...prefixItems] : prefixItems;
  }
  if (!isObject(schema)) return [];
  const { properties = {}, additionalProperties: additional } = schema;
  const values = Object.values(properties);
  return typeof additional === 'object' ? [additional, ...values] : values;
}
