import { costAgainstParsing } from '@sluice/testing';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { exampleFromSchema } from './example-from-schema.ts';

const formats = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  date: /^\d{4}-\d\d-\d\d$/,
  email: /^[^@\s]+@[^@\s]+\.[a-z]+$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  uri: /^https:\/\//,
};
const ajv = new Ajv2020({ strict: false, formats, logger: false });

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    age: { type: 'integer', minimum: 18, maximum: 120 },
    email: { type: 'string', format: 'email' },
    tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 2, uniqueItems: true },
    address: {
      type: ['object', 'null'],
      properties: { city: { type: 'string' }, zip: { type: 'string', minLength: 5, maxLength: 5 } },
      required: ['city', 'zip'],
      additionalProperties: false,
    },
  },
  required: ['name', 'age', 'email', 'tags', 'address'],
  additionalProperties: false,
};
const linkedList = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: {
        value: { type: 'number' },
        next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
      },
      required: ['value', 'next'],
      additionalProperties: false,
    },
  },
};
const shapes = {
  type: 'object',
  properties: {
    shape: {
      oneOf: [
        {
          type: 'object',
          properties: { kind: { const: 'circle' }, radius: { type: 'number', exclusiveMinimum: 0 } },
          required: ['kind', 'radius'],
        },
        { type: 'object', properties: { kind: { const: 'dot' } }, required: ['kind'] },
      ],
    },
  },
  required: ['shape'],
};

/** An example may take as long as parsing this so many times: a few times is usual, and a schema that grows takes minutes. */
const yardstick = Array.from({ length: 100_000 }, (_, at) => ({ at }));
const mostCost = 40;

describe('exampleFromSchema', () => {
  it.each<[string, boolean | object]>([
    ['anything', true],
    ['the empty schema', {}],
    ['a person', person],
    ['a linked list', linkedList],
    ['tagged shapes', shapes],
    ['a tree of itself', { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } } }],
    ['a list of itself', { type: 'array', items: { $ref: '#' } }],
    ['a constant', { const: { a: [1, null] } }],
    ['null', { type: 'null' }],
    ['an enum with a type', { type: 'integer', enum: ['one', 1] }],
    ['a default that fits', { type: 'integer', default: 7, minimum: 5 }],
    ['a default that does not fit', { type: 'integer', default: 3, minimum: 5 }],
    ['a date-time', { type: 'string', format: 'date-time' }],
    ['a date', { type: 'string', format: 'date' }],
    ['a uuid', { type: 'string', format: 'uuid' }],
    ['a uri', { type: 'string', format: 'uri' }],
    ['an unknown format', { type: 'string', format: 'colour' }],
    ['a long string', { type: 'string', minLength: 40, maxLength: 41 }],
    ['an empty string', { type: 'string', maxLength: 0 }],
    ['a short string', { type: 'string', maxLength: 3 }],
    ['a multiple', { type: 'integer', minimum: 10, multipleOf: 7 }],
    ['a negative multiple', { type: 'integer', maximum: -10, multipleOf: 7 }],
    ['a decimal step', { type: 'number', minimum: 0.3, maximum: 0.4, multipleOf: 0.1 }],
    ['an integer of half steps', { type: 'integer', multipleOf: 2.5, minimum: 1 }],
    ['a narrow range', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }],
    ['a huge minimum', { type: 'integer', minimum: 1_000_000_007 }],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
    ],
    [
      'distinct integers',
      { type: 'array', items: { type: 'integer', minimum: 3 }, minItems: 5, uniqueItems: true },
    ],
    [
      'distinct strings',
      { type: 'array', items: { type: 'string', maxLength: 2 }, minItems: 5, uniqueItems: true },
    ],
    ['distinct booleans', { type: 'array', items: { type: 'boolean' }, minItems: 2, uniqueItems: true }],
    ['no items at all', { type: 'array', maxItems: 0 }],
    ['required members without a schema', { type: 'object', required: ['a', 'b'] }],
    ['members of a map', { type: 'object', additionalProperties: { type: 'integer' }, minProperties: 3 }],
    [
      'few members',
      { type: 'object', properties: { a: {}, b: {}, c: {} }, required: ['c'], maxProperties: 2 },
    ],
    [
      'a member called __proto__',
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}'),
    ],
    [
      'a branch that can be satisfied',
      { anyOf: [false, { type: 'string', minLength: 3, maxLength: 2 }, { type: 'integer' }] },
    ],
    ['exactly one branch', { oneOf: [{ type: 'number' }, { type: 'integer' }, { type: 'string' }] }],
    ['something else than', { type: 'string', not: { const: 'example' }, enum: ['example', 'other'] }],
    [
      'all of several',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'integer', minimum: 3 } }, required: ['a'] },
          { properties: { a: { maximum: 5 }, b: { type: 'string' } }, required: ['b'] },
        ],
      },
    ],
    ['a reference with siblings', { $defs: { n: { type: 'integer' } }, $ref: '#/$defs/n', minimum: 4 }],
    ['a reference through escapes', { $defs: { 'a/b~c': { type: 'boolean' } }, $ref: '#/$defs/a~1b~0c' }],
    [
      'a union beside members',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
    ],
    ['a type left to its keywords', { properties: { a: { items: { minimum: 3 } } }, required: ['a'] }],
  ])('makes %s', (_, schema) => {
    const validate = ajv.compile(schema);
    const value = exampleFromSchema(schema);
    expect(value).not.toBeUndefined();
    validate(JSON.parse(JSON.stringify(value)));
    expect(validate.errors).toBeNull();
    expect(exampleFromSchema(schema)).toEqual(value);
  });

  it('makes a value where null is only allowed besides', () => {
    expect(exampleFromSchema({ type: 'string', nullable: true })).toBe('example');
    expect(exampleFromSchema({ type: ['null', 'integer'] })).toBe(1);
  });

  it('keeps what refers to itself small', () => {
    expect(JSON.stringify(exampleFromSchema(linkedList)).length).toBeLessThan(200);
  });

  it.each<[string, unknown]>([
    ['nothing', false],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['a reference to nothing', { $ref: '#/$defs/missing' }],
    ['a reference to itself', { $ref: '#' }],
    ['limits that contradict each other', { type: 'integer', minimum: 5, maximum: 4 }],
    ['an endless structure', { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] }],
    ['a required member that is forbidden', { type: 'object', required: ['a'], additionalProperties: false }],
    ['a list longer than the budget', { type: 'array', minItems: 1e9 }],
    ['more members than the budget', { type: 'object', minProperties: 1e9 }],
    [
      'a text longer than the budget',
      { type: 'array', minItems: 100, items: { type: 'string', minLength: 99_999 } },
    ],
    ['types that exclude each other', { allOf: [{ type: 'string' }, { type: 'integer' }] }],
  ])('makes nothing of %s', (_, schema) => {
    expect(exampleFromSchema(schema)).toBeUndefined();
  });

  const many = <Value>(length: number, of: (at: number) => Value) =>
    Array.from({ length }, (_, at) => of(at));
  const long = 'x'.repeat(300_000);
  it.each<[string, () => unknown]>([
    [
      'long lists of numbers',
      () => ({
        type: 'array',
        minItems: 10,
        items: { type: 'array', minItems: 3900, items: { type: 'integer' } },
      }),
    ],
    [
      'long lists of steps that have to be tried',
      () => ({
        type: 'array',
        minItems: 10,
        items: { type: 'array', minItems: 3900, items: { type: 'number', multipleOf: 0.1 } },
      }),
    ],
    [
      'a long value beside many others',
      () => ({ type: 'object', default: { a: long }, not: { enum: many(16_000, () => []) } }),
    ],
    [
      'a value of many members beside many others',
      () => ({
        default: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at])),
        not: { anyOf: many(4000, () => ({ type: 'object', minProperties: 30_000 })) },
      }),
    ],
    [
      'a list compared again and again for distinct values',
      () => ({ default: [long, long], not: { anyOf: many(8000, () => ({ uniqueItems: true })) } }),
    ],
    [
      'long unions joined again and again',
      () => ({
        $defs: { a: { anyOf: [many(40_000, String)] }, b: { anyOf: [many(40_000, String)] } },
        allOf: many(2000, (at) => ({ $ref: at % 2 === 0 ? '#/$defs/a' : '#/$defs/b' })),
      }),
    ],
    [
      'long choices joined again and again',
      () => ({
        $defs: { a: { enum: [many(40_000, String)] }, b: { enum: [many(40_000, String)] } },
        allOf: many(2000, (at) => ({ $ref: at % 2 === 0 ? '#/$defs/a' : '#/$defs/b' })),
      }),
    ],
    [
      'many members joined again and again',
      () => ({
        properties: Object.fromEntries(many(10_000, (at) => [`p${at}`, {}])),
        allOf: many(4000, () => ({ properties: { a: true } })),
      }),
    ],
    [
      'a long list of types each time',
      () => ({ type: 'array', minItems: 9000, items: { type: [...many(20_000, () => 'x'), 'integer'] } }),
    ],
    [
      'a long reference followed again and again',
      () => ({
        $defs: { far: { $ref: `#${'/a'.repeat(150_000)}` } },
        anyOf: many(2000, () => ({ $ref: '#/$defs/far' })),
      }),
    ],
    [
      'as many members as are listed',
      () => ({
        type: 'object',
        properties: Object.fromEntries(many(20_000, (at) => [`p${at}`, { type: 'boolean' }])),
        minProperties: 20_000,
      }),
    ],
  ])('ends soon on %s', (_, build) => {
    const schema = build();
    expect(costAgainstParsing(yardstick, () => () => exampleFromSchema(schema))).toBeLessThan(mostCost);
  });

  it('counts numbers upwards and then downwards, within their limits', () => {
    const list = (items: object, minItems: number) => exampleFromSchema({ type: 'array', items, minItems });
    expect(list({ type: 'integer', minimum: -2, exclusiveMaximum: 3 }, 5)).toEqual([1, 2, 0, -1, -2]);
    expect(list({ type: 'integer', exclusiveMinimum: 7, multipleOf: 7 }, 3)).toEqual([14, 21, 28]);
    expect(list({ type: 'number', minimum: 0.5, maximum: 2.5 }, 2)).toEqual([1, 2]);
    expect(list({ type: 'integer' }, 3900)).toEqual(many(3900, (at) => at + 1));
  });

  it('takes a value that it could not finish checking for no match, also below not', () => {
    const branches = [...many(60_000, () => ({ minimum: 5 })), true];
    expect(exampleFromSchema({ default: 1, not: { anyOf: branches } })).toBeUndefined();
  });

  it('ends soon on schemas made to grow', () => {
    const doubling: Record<string, unknown> = { d0: { type: 'string', maxLength: 0, minLength: 1 } };
    for (let at = 1; at <= 30; at += 1) {
      const before = { $ref: `#/$defs/d${at - 1}` };
      doubling[`d${at}`] = { anyOf: [before, before] };
    }
    const wide = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`p${at}`, {}])),
    };
    const hostile = [
      { $ref: '#/$defs/d30', $defs: doubling },
      { allOf: Array.from({ length: 5000 }, () => wide) },
      { type: 'array', minItems: 10_000, items: wide },
      {
        type: 'array',
        minItems: 50_000,
        uniqueItems: true,
        items: { enum: Array.from({ length: 5000 }, (_, at) => at) },
      },
      { type: 'array', minItems: 10_000, items: { const: 'x'.repeat(100_000) } },
    ];
    for (const schema of hostile) {
      expect(costAgainstParsing(yardstick, () => () => exampleFromSchema(schema))).toBeLessThan(mostCost);
    }
  });
});
