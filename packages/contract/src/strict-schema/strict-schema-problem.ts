import { isObject } from '../is-object.ts';
import { inPlaceProblem } from './in-place-cost.ts';
import { patternProblem } from './pattern-problem.ts';
import {
  addressKeywords,
  dialectOf,
  type KeywordForm,
  keywordOf,
  type SchemaDialect,
} from './schema-keywords.ts';

type JsonObject = Record<string, unknown>;

/** The limits of a strict schema, within which a value can be checked against it at a bounded cost. */
export const strictSchemaLimits = {
  /** Characters of it as JSON. */
  characters: 256 * 1024,
  /** Deepest nesting of schemas. */
  depth: 32,
  schemas: 5_000,
  /** Values of `enum` and `const` over all schemas. */
  values: 5_000,
  patterns: 100,
  /** Characters of the name of a property or a definition. */
  name: 256,
} as const;

/**
 * Says why a schema cannot be strict; undefined if it can.
 *
 * A strict schema is one that this service holds a model to, so everything in it must be understood: each keyword has a value
 * of its form, and each reference leads to a schema inside. The cost is linear in the size of the schema.
 */
export function strictSchemaProblem(schema: JsonObject): string | undefined {
  if (JSON.stringify(schema).length > strictSchemaLimits.characters) {
    return `has more than ${strictSchemaLimits.characters} characters`;
  }
  const dialect = dialectOf(schema);
  if (!dialect) return "has an unknown '$schema'";
  try {
    const walk = new Walk(schema, dialect);
    walk.visit(schema, 0, '');
    walk.resolveReferences();
    return inPlaceProblem(walk.inPlace);
  } catch (error) {
    if (error instanceof SchemaProblem) return error.message;
    throw error;
  }
}

/** How many characters of a place are said. */
const longestPlace = 200;

class SchemaProblem extends Error {}

const typeNames: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);

/** One walk over all schemas of a strict schema. */
class Walk {
  /** Every schema that was visited, with those that it applies in its place. */
  readonly inPlace = new Map<object, object[]>();
  readonly #root: JsonObject;
  readonly #dialect: SchemaDialect;
  readonly #references: { from: object; to: string; at: string }[] = [];
  /** Where the walk is, for what it says: names and positions, each with its separator in front. */
  #at = '';
  #schemas = 0;
  #values = 0;
  #patterns = 0;

  constructor(root: JsonObject, dialect: SchemaDialect) {
    this.#root = root;
    this.#dialect = dialect;
  }

  visit(schema: unknown, depth: number, at: string): void {
    this.#at = at;
    this.#schemas += 1;
    if (this.#schemas > strictSchemaLimits.schemas) {
      throw new SchemaProblem(`consists of more than ${strictSchemaLimits.schemas} schemas`);
    }
    if (depth > strictSchemaLimits.depth) {
      throw new SchemaProblem(`is nested deeper than ${strictSchemaLimits.depth} schemas`);
    }
    if (typeof schema === 'boolean') return;
    if (!isObject(schema)) throw this.#problemHere('has a schema that is neither an object nor a boolean');
    this.inPlace.set(schema, []);
    for (const [name, value] of Object.entries(schema)) {
      if (addressKeywords.has(name) && !(name === '$id' && schema === this.#root)) {
        throw this.#problemHere(`has a '${name}', which strict schemas may not have`);
      }
      const keyword = keywordOf(name);
      if (!keyword) continue;
      this.#checkForm(keyword.form, name, value);
      const parts = partsIn(keyword.form, value);
      if (keyword.isInPlace)
        this.inPlace.get(schema)?.push(...parts.map(({ schema: part }) => part).filter(isObject));
      if (keyword.form === 'reference') this.#references.push({ from: schema, to: String(value), at });
      for (const part of parts) this.visit(part.schema, depth + 1, `${at}.${name}${part.at}`);
      this.#at = at;
    }
  }

  /** Each reference must lead to a schema that was visited. A pointer is followed from the root, so it costs its length. */
  resolveReferences(): void {
    for (const { from, to, at } of this.#references) {
      this.#at = at;
      let found: unknown = this.#root;
      for (const segment of to.split('/').slice(1)) {
        const name = decoded(segment).replaceAll('~1', '/').replaceAll('~0', '~');
        found =
          typeof found === 'object' && found !== null && Object.hasOwn(found, name)
            ? (found as JsonObject)[name]
            : undefined; // an object or a list with this member
      }
      if (typeof found === 'boolean') continue;
      if (!isObject(found) || !this.inPlace.has(found)) {
        throw this.#problemHere("has a '$ref' that leads to no schema inside it");
      }
      this.inPlace.get(from)?.push(found);
    }
  }

  #checkForm(form: KeywordForm, name: string, value: unknown): void {
    if (!hasForm(form, value)) {
      throw this.#problemHere(
        form === 'reference'
          ? `has a '${name}' that is no pointer into it`
          : `has a '${name}' of the wrong form`,
      );
    }
    switch (form) {
      case 'pattern':
        return this.#checkPattern(String(value));
      case 'values':
        return this.#countValues(Array.isArray(value) ? value.length : 0);
      case 'any':
        return this.#countValues(1);
      case 'schema_or_list':
        if (Array.isArray(value) && this.#dialect === '2020-12') {
          throw this.#problemHere("has a list of 'items', which are 'prefixItems' in its dialect");
        }
        return;
      case 'schema_map':
      case 'schema_pattern_map':
      case 'schema_or_names_map':
        for (const member of Object.keys(isObject(value) ? value : {})) {
          if (member.length > strictSchemaLimits.name) {
            throw this.#problemHere(`has a name of more than ${strictSchemaLimits.name} characters`);
          }
          if (form === 'schema_pattern_map') this.#checkPattern(member);
        }
        return;
      default:
    }
  }

  #checkPattern(pattern: string): void {
    this.#patterns += 1;
    const { patterns: most } = strictSchemaLimits;
    if (this.#patterns > most) throw new SchemaProblem(`has more than ${most} patterns`);
    const problem = patternProblem(pattern);
    if (problem !== undefined) throw this.#problemHere(`has a pattern that ${problem}`);
  }

  #problemHere(problem: string): SchemaProblem {
    const at = this.#at.slice(1, 1 + longestPlace);
    return new SchemaProblem(at === '' ? problem : `${problem}, at '${at}'`);
  }

  #countValues(count: number): void {
    this.#values += count;
    const { values: most } = strictSchemaLimits;
    if (this.#values > most) throw new SchemaProblem(`allows more than ${most} single values`);
  }
}

function hasForm(form: KeywordForm, value: unknown): boolean {
  switch (form) {
    case 'any':
    case 'schema':
      return true;
    case 'boolean':
      return typeof value === 'boolean';
    case 'count':
      return Number.isInteger(value) && Number(value) >= 0;
    case 'number':
      return typeof value === 'number';
    case 'positive_number':
      return typeof value === 'number' && value > 0;
    case 'string':
    case 'pattern':
      return typeof value === 'string';
    case 'reference':
      return typeof value === 'string' && /^#(?:\/|$)/.test(value);
    case 'string_list':
      return isStringList(value);
    case 'string_list_map':
      return isObject(value) && Object.values(value).every(isStringList);
    case 'types':
      return [value].flat().length > 0 && [value].flat().every((type) => typeNames.has(type));
    case 'values':
    case 'schema_list':
      return Array.isArray(value) && value.length > 0;
    case 'schema_or_list':
      return typeof value === 'boolean' || typeof value === 'object';
    case 'schema_map':
    case 'schema_pattern_map':
    case 'schema_or_names_map':
      return isObject(value);
  }
}

/** A schema in the value of a keyword, and where it is there: `''`, `.name` or `[0]`. */
interface Part {
  schema: unknown;
  at: string;
}

/** The schemas in the value of a keyword, which has its form. */
export function schemasIn(form: KeywordForm, value: unknown): unknown[] {
  return partsIn(form, value).map(({ schema }) => schema);
}

function partsIn(form: KeywordForm, value: unknown): Part[] {
  switch (form) {
    case 'schema':
      return [{ schema: value, at: '' }];
    case 'schema_list':
    case 'schema_or_list':
      if (!Array.isArray(value)) return [{ schema: value, at: '' }];
      return value.map((schema: unknown, index) => ({ schema, at: `[${index}]` }));
    case 'schema_map':
    case 'schema_pattern_map':
    case 'schema_or_names_map': {
      const members = Object.entries(isObject(value) ? value : {}).map(([name, schema]) => ({
        schema,
        at: `.${name}`,
      }));
      return form === 'schema_or_names_map' ? members.filter(({ schema }) => !isStringList(schema)) : members;
    }
    default:
      return [];
  }
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
