import { describe, expect, it } from 'vitest';
import { plainSchema } from './plain-schema.ts';
import { strictSchemaProblem } from './strict-schema-problem.ts';

type Schema = Record<string, unknown>;

const nested = (levels: number, inner: Schema = {}): Schema =>
  levels === 0 ? inner : { properties: { a: nested(levels - 1, inner) } };

/** References that double at each step: `d0` applies 2^steps schemas to one value. */
const doubling = (steps: number): Schema => {
  const $defs: Schema = { [`d${steps}`]: {} };
  for (let at = 0; at < steps; at += 1) {
    const next = { $ref: `#/$defs/d${at + 1}` };
    $defs[`d${at}`] = { allOf: [next, { ...next }] };
  }
  return { $ref: '#/$defs/d0', $defs };
};

const named = (count: number, of: (name: string) => unknown): Schema =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, of(`p${at}`)]));

describe('a strict schema', () => {
  it.each<[string, Schema]>([
    ['nothing', {}],
    ['a tree', { $ref: '#/$defs/node', $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } } }],
    ['itself in its elements', { type: 'array', items: { $ref: '#' } }],
    [
      'a name with odd characters',
      { properties: { 'a/b~ %': {} }, not: { $ref: '#/properties/a~1b~0%20%25' } },
    ],
    ['a nested quantifier', { pattern: '^(a+)+$' }],
    ['a slug', { pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' }],
    [
      'members that are no keywords',
      { title: 5, 'x-order': [{ $ref: 'http://127.0.0.1/' }], examples: [{ $id: 1 }] },
    ],
    ['data that looks like a schema', { const: { $ref: 'http://127.0.0.1/', pattern: 1 } }],
    [
      'properties that are named like keywords',
      { properties: { $ref: {}, $id: {}, pattern: { type: 'string' } } },
    ],
    ['an id', { $id: 'https://example.com/s', type: 'object' }],
    [
      'the dialect of zod',
      { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] },
    ],
    ['as many properties as there may be', { properties: named(4_999, () => ({ type: 'string' })) }],
    ['as many levels as there may be', nested(32)],
  ])('may have %s', (_, schema) => {
    expect(strictSchemaProblem(schema)).toBeUndefined();
  });

  it.each<[string, Schema, RegExp]>([
    ['an unknown dialect', { $schema: 'https://example.com/own' }, /unknown '\$schema'/],
    ['a remote reference', { $ref: 'http://169.254.169.254/latest' }, /'\$ref' that is no pointer into it/],
    ['a reference to an anchor', { $ref: '#node' }, /'\$ref' that is no pointer into it/],
    ['a reference to nothing', { $ref: '#/$defs/node' }, /leads to no schema/],
    ['a reference to data', { const: { type: 'string' }, not: { $ref: '#/const' } }, /leads to no schema/],
    ['a reference to what all objects have', { $ref: '#/constructor' }, /leads to no schema/],
    ['an address of its own inside', { properties: { a: { $id: 'https://example.com/s' } } }, /a '\$id'/],
    ['a dynamic reference', { $dynamicRef: '#' }, /a '\$dynamicRef'/],
    ['itself in its place', { $ref: '#' }, /refers to itself/],
    ['itself in a branch', { anyOf: [{ type: 'null' }, { not: { $ref: '#' } }] }, /refers to itself/],
    ['references that double', doubling(20), /more than 10000 schemas to one value/],
    [
      'a long chain of references',
      {
        $defs: { ...named(100, (name) => ({ $ref: `#/$defs/p${Number(name.slice(1)) + 1}` })), p100: {} },
        $ref: '#/$defs/p0',
      },
      /more than 64 times/,
    ],
    ['too many levels', nested(33), /deeper than 32/],
    ['too many properties', { properties: named(5_000, () => ({})) }, /more than 5000 schemas/],
    [
      'too many choices',
      { enum: Array.from({ length: 5_001 }, (_, at) => at) },
      /more than 5000 single values/,
    ],
    ['too many characters', { description: 'x'.repeat(300_000) }, /more than 262144 characters/],
    ['a long name', { properties: { ['x'.repeat(257)]: {} } }, /name of more than 256/],
    ['a look-ahead', { pattern: '^(?=.*\\d).+$' }, /pattern that looks ahead or behind/],
    ['a look-behind', { patternProperties: { '(?<!a)b': {} } }, /pattern that looks ahead or behind/],
    ['a back-reference', { pattern: '^(a+)\\1$' }, /pattern that refers to a group/],
    ['repetitions that multiply', { pattern: '((a{100}){100})' }, /repeats something more than 1000/],
    ['many repetitions', { pattern: 'a{1000}'.repeat(20) }, /matches more than 10000/],
    ['a long pattern', { pattern: 'a'.repeat(1_001) }, /more than 1000 characters/],
    ['groups that are not closed', { pattern: '((a)' }, /is no regular expression/],
    ['groups that are not opened', { pattern: 'a))' }, /is no regular expression/],
    ['an unknown type', { type: 'text' }, /'type' of the wrong form/],
    ['a length that is no number', { minLength: '1' }, /'minLength' of the wrong form/],
    ['a list of properties', { properties: [] }, /'properties' of the wrong form/],
    ['a schema that is a number', { properties: { a: 5 } }, /neither an object nor a boolean/],
    [
      'an exclusive minimum of draft 4',
      { minimum: 1, exclusiveMinimum: true },
      /'exclusiveMinimum' of the wrong form/,
    ],
    ['a tuple under another name', { items: [{}] }, /'prefixItems'/],
  ])('may not have %s', (_, schema, problem) => {
    expect(strictSchemaProblem(schema)).toMatch(problem);
  });

  it.each([
    [{ properties: { who: { anyOf: [{}, { pattern: '(?=a)' }] } } }, 'properties.who.anyOf[1]'],
    [{ $defs: { a: { items: { $ref: '#/$defs/b' } } } }, '$defs.a.items'],
    [{ properties: { a: {}, b: 5 } }, 'properties.b'],
    [{ properties: { a: { not: {}, type: 'text' } } }, 'properties.a'],
    [{ properties: { ['x'.repeat(250)]: { $id: 'y' } } }, `properties.${'x'.repeat(189)}`],
  ])('is refused with the place of what is wrong: %#', (schema, place) => {
    expect(strictSchemaProblem(schema)?.split(', at ').at(-1)).toBe(`'${place}'`);
  });

  it('is copied without what decides nothing', () => {
    const schema = {
      $id: 'https://example.com/s',
      title: 'T',
      'x-own': { $id: 5 },
      properties: { title: { type: 'string', examples: ['a'] }, on: true },
      dependencies: { a: ['b'], c: { title: 'C', type: 'object' } },
      anyOf: [{ const: { title: 'kept' } }],
      enum: [{ title: 'kept' }],
      items: { deprecated: true },
    };
    expect(plainSchema(schema)).toEqual({
      properties: { title: { type: 'string' }, on: true },
      dependencies: { a: ['b'], c: { type: 'object' } },
      anyOf: [{ const: { title: 'kept' } }],
      enum: [{ title: 'kept' }],
      items: {},
    });
  });
});
