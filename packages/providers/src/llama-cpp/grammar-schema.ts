import { isObject, type JsonObject } from '../json-fields.ts';
import { isAmbiguous } from './ambiguity.ts';
import type { GrammarDefinitions, GrammarSchema, Scalar, ScalarType } from './library.ts';

/** The largest cost of a schema: 1 for each node, and more for every 64 characters of a text. */
const mostCost = 1_500;

const mostDepth = 64;

/** A schema that no grammar can hold. Its message is a sentence for the client. */
export class SchemaRefusal extends Error {
  readonly param: string;

  constructor(param: string, problem: string) {
    super(`The model cannot take '${param}': ${problem}.`);
    this.name = 'SchemaRefusal';
    this.param = param;
  }
}

export interface GrammarSchemaOptions {
  /** Where the schema stands in the request. */
  param: string;
  /** Whether to refuse a schema that asks for more than a grammar can hold. Otherwise only the rest of it applies. */
  isStrict: boolean;
}

/**
 * The part of a JSON Schema that a grammar can hold, in the terms of the library.
 *
 * Every property of an object is written, the optional ones too. References become definitions of the result.
 *
 * @throws {SchemaRefusal}
 */
export function grammarSchema(schema: unknown, options: GrammarSchemaOptions): GrammarSchema {
  const reader = new SchemaReader(schema, options);
  return reader.read();
}

const scalarTypes: readonly string[] = ['string', 'number', 'integer', 'boolean', 'null'];
const formats: readonly string[] = ['date-time', 'time', 'date'];

/** Keywords that restrict values in a way that no grammar of the library can. */
const constraints = [
  'allOf',
  'contains',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'if',
  'maxProperties',
  'maximum',
  'minProperties',
  'minimum',
  'multipleOf',
  'not',
  'pattern',
  'patternProperties',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
  'uniqueItems',
];

const anyScalar: GrammarSchema = { type: ['string', 'number', 'boolean', 'null'] };
const anyObject: GrammarSchema = { type: 'object', additionalProperties: true };
const anyValue: GrammarSchema = { oneOf: [anyScalar, anyObject, { type: 'array' }] };

class SchemaReader {
  readonly #root: unknown;
  readonly #options: GrammarSchemaOptions;
  /** The name of the definition of each reference. */
  readonly #names = new Map<string, string>();
  readonly #definitions: GrammarDefinitions = {};
  #cost = 0;

  constructor(root: unknown, options: GrammarSchemaOptions) {
    this.#root = root;
    this.#options = options;
  }

  read(): GrammarSchema {
    const schema = this.#read(this.#root, 0);
    if (this.#names.size === 0) return schema;
    if (isAmbiguous(schema, this.#definitions)) {
      throw this.#refusal(
        'beside references, alternatives must not begin alike; begin each with a constant of its own',
      );
    }
    return { ...schema, $defs: this.#definitions };
  }

  #read(node: unknown, depth: number): GrammarSchema {
    this.#spend(1);
    if (depth > mostDepth) throw this.#refusal('it is nested too deeply');
    if (node === true) return anyValue;
    if (!isObject(node)) throw this.#refusal('a schema in it is not an object');
    this.#check(node);
    const description = typeof node['description'] === 'string' ? node['description'] : undefined;
    if (description !== undefined) this.#text(description);
    const read = this.#readKind(node, depth + 1);
    return description === undefined ? read : { ...read, description };
  }

  #readKind(node: JsonObject, depth: number): GrammarSchema {
    const { $ref, type } = node;
    if (typeof $ref === 'string') return { $ref: `#/$defs/${this.#define($ref, depth)}` };
    if ('const' in node) return { const: this.#scalar(node['const']) };
    if (Array.isArray(node['enum'])) {
      if (node['enum'].length === 0) throw this.#refusal('an enum in it is empty');
      return { enum: node['enum'].map((value) => this.#scalar(value)) };
    }
    const alternatives = node['anyOf'] ?? node['oneOf'];
    if (Array.isArray(alternatives) && isObject(node['properties'])) {
      this.#beyond('it has alternatives beside properties');
    } else if (Array.isArray(alternatives) && alternatives.length > 0) {
      return { oneOf: alternatives.map((each) => this.#read(each, depth)) };
    }
    if (Array.isArray(type)) return this.#readTypes(node, type, depth);
    return this.#readType(node, type, depth);
  }

  #readTypes(node: JsonObject, types: readonly unknown[], depth: number): GrammarSchema {
    const alternatives = types.map((type) => this.#readType(node, type, depth));
    const [only] = alternatives;
    if (!only) throw this.#refusal('a type in it is an empty list');
    return alternatives.length === 1 ? only : { oneOf: alternatives };
  }

  #readType(node: JsonObject, type: unknown, depth: number): GrammarSchema {
    if (type === 'object' || (type === undefined && isObject(node['properties']))) {
      return this.#readObject(node, depth);
    }
    if (type === 'array' || (type === undefined && isObject(node['items']))) {
      return this.#readArray(node, depth);
    }
    if (type === 'string') return this.#readString(node);
    if (type === undefined) return anyValue;
    if (typeof type === 'string' && scalarTypes.includes(type)) return { type: type as ScalarType };
    throw this.#refusal('a type in it is unknown');
  }

  #readObject(node: JsonObject, depth: number): GrammarSchema {
    const { properties, additionalProperties: additional } = node;
    if (!isObject(properties)) {
      if (additional === false) return { type: 'object', properties: {} };
      return isObject(additional)
        ? { type: 'object', additionalProperties: this.#read(additional, depth) }
        : anyObject;
    }
    const required = Array.isArray(node['required']) ? node['required'] : [];
    if (required.some((name) => typeof name !== 'string' || !Object.hasOwn(properties, name))) {
      this.#beyond('a required property in it has no schema');
    }
    const read = Object.entries(properties).map(([name, schema]) => {
      this.#text(name);
      return [name, this.#read(schema, depth)] as const;
    });
    return { type: 'object', properties: Object.fromEntries(read) };
  }

  #readArray(node: JsonObject, depth: number): GrammarSchema {
    const { items, prefixItems, minItems, maxItems } = node;
    return {
      type: 'array',
      ...(isObject(items) && { items: this.#read(items, depth) }),
      ...(Array.isArray(prefixItems) && { prefixItems: prefixItems.map((each) => this.#read(each, depth)) }),
      ...(isCount(minItems) && { minItems }),
      ...(isCount(maxItems) && { maxItems }),
    };
  }

  #readString({ format, minLength, maxLength }: JsonObject): GrammarSchema {
    if (typeof format === 'string') {
      if (formats.includes(format)) return { type: 'string', format: format as 'date' };
      this.#beyond(`the format '${format.slice(0, 40)}' has no grammar`);
    }
    return {
      type: 'string',
      ...(isCount(minLength) && { minLength }),
      ...(isCount(maxLength) && { maxLength }),
    };
  }

  /** The name of the definition that a reference becomes. It is read once, and may refer to itself. */
  #define(reference: string, depth: number): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const name = `d${this.#names.size}`;
    this.#names.set(reference, name);
    this.#definitions[name] = this.#read(this.#find(reference), depth);
    return name;
  }

  #find(reference: string): unknown {
    if (reference === '#') return this.#root;
    if (!reference.startsWith('#/')) throw this.#refusal('a reference in it leaves the schema');
    let found: unknown = this.#root;
    for (const part of reference.slice(2).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (!isObject(found) || !Object.hasOwn(found, name)) {
        throw this.#refusal('a reference in it leads nowhere');
      }
      found = found[name];
    }
    return found;
  }

  #scalar(value: unknown): Scalar {
    if (typeof value === 'string') {
      this.#text(value);
      return value;
    }
    this.#spend(1);
    if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
    throw this.#refusal('a constant in it is not a text, a number, a boolean or null');
  }

  #check(node: JsonObject): void {
    const name = constraints.find((each) => Object.hasOwn(node, each));
    if (name !== undefined) this.#beyond(`a grammar cannot hold the keyword '${name}'`);
  }

  /** The schema asks for more than a grammar can hold. */
  #beyond(problem: string): void {
    if (this.#options.isStrict) throw this.#refusal(`${problem}; remove it, or set strict to false`);
  }

  #text(value: string): void {
    this.#spend(1 + Math.floor(value.length / 64));
    // The text of a grammar would end there.
    if (value.includes('\0')) throw this.#refusal('a text in it holds a null character');
  }

  #spend(cost: number): void {
    this.#cost += cost;
    if (this.#cost > mostCost) throw this.#refusal('it is too large');
  }

  #refusal(problem: string): SchemaRefusal {
    return new SchemaRefusal(this.#options.param, problem);
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
