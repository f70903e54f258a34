import { describe, expect, it } from 'vitest';
import { grammarSchema, SchemaRefusal } from './grammar-schema.ts';

const lenient = (schema: unknown) => grammarSchema(schema, { param: 'p', isStrict: false });
const strict = (schema: unknown) => grammarSchema(schema, { param: 'p', isStrict: true });
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('the schema of a grammar', () => {
  it('keeps what a grammar can hold', () => {
    const schema = object({
      name: { type: 'string', maxLength: 20, description: 'Who' },
      kind: { enum: ['a', 2, null] },
      tags: { type: 'array', items: { type: 'string', format: 'date' }, minItems: 1, maxItems: 3 },
      exact: { const: true },
      count: { type: 'integer' },
    });
    expect(strict(schema)).toEqual(schema);
  });

  it('leaves out annotations and what every property is anyway', () => {
    const schema = object(
      { a: { type: 'string', title: 'A', default: 'x' } },
      {
        required: ['a'],
        additionalProperties: false,
        $schema: 'https://json-schema.org/draft/2020-12/schema',
      },
    );
    expect(strict(schema)).toEqual(object({ a: { type: 'string' } }));
  });

  it('turns several types and anyOf into alternatives', () => {
    const either = { oneOf: [{ type: 'string' }, { type: 'null' }] };
    expect(strict({ type: ['string', 'null'] })).toEqual(either);
    expect(strict({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toEqual(either);
  });

  it('takes any value where the schema says nothing', () => {
    expect(lenient({})).toHaveProperty('oneOf');
    expect(lenient(true)).toHaveProperty('oneOf');
    expect(lenient({ type: 'object' })).toEqual({ type: 'object', additionalProperties: true });
    expect(lenient({ type: 'object', additionalProperties: { type: 'null' } })).toEqual({
      type: 'object',
      additionalProperties: { type: 'null' },
    });
  });

  it('turns references into definitions, also to itself', () => {
    const list = object({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } });
    expect(strict(list)).toEqual({
      ...object({ next: { oneOf: [{ $ref: '#/$defs/d0' }, { type: 'null' }] } }),
      $defs: { d0: object({ next: { oneOf: [{ $ref: '#/$defs/d0' }, { type: 'null' }] } }) },
    });
    const tree = object(
      { root: { $ref: '#/definitions/a~1b' } },
      { definitions: { 'a/b': { type: 'array', items: { $ref: '#/definitions/a~1b' } } } },
    );
    expect(strict(tree)).toMatchObject({ $defs: { d0: { type: 'array', items: { $ref: '#/$defs/d0' } } } });
  });

  it.each([
    ['pattern', { type: 'string', pattern: '^a' }],
    ['minimum', { type: 'number', minimum: 1 }],
    ["format 'email'", { type: 'string', format: 'email' }],
    ['required property', object({}, { required: ['a'] })],
    ['alternatives beside properties', object({ a: { type: 'string' } }, { anyOf: [{ required: ['a'] }] })],
    ['allOf', { allOf: [{ type: 'string' }] }],
  ])('refuses %s when it is strict, and holds the rest when it is not', (words, schema) => {
    expect(() => strict(schema)).toThrowError(words);
    expect(() => lenient(schema)).not.toThrow();
  });

  it.each<[string, unknown]>([
    ['not an object', { type: 'array', items: { anyOf: [3] } }],
    ['unknown', { type: 'text' }],
    ['leads nowhere', { $ref: '#/$defs/none' }],
    ['leads nowhere', { $ref: '#/__proto__' }],
    ['leaves the schema', { $ref: 'https://example.com/schema' }],
    ['is empty', { enum: [] }],
    ['not a text, a number', { const: {} }],
    ['null character', { const: 'a\0' }],
    ['null character', object({ 'a\0': { type: 'string' } })],
    ['too large', { enum: Array.from({ length: 3000 }, (_, index) => index) }],
    ['too large', { const: 'x'.repeat(200_000) }],
    ['nested too deeply', nested(100)],
  ])('refuses what is %s', (words, schema) => {
    expect(() => lenient(schema)).toThrowError(words);
    expect(() => lenient(schema)).toThrowError(SchemaRefusal);
  });
});

describe('alternatives beside references', () => {
  const tree = (...kinds: object[]) => ({
    ...object({ root: { $ref: '#/$defs/node' } }),
    $defs: { node: { anyOf: kinds } },
  });
  const child = { child: { $ref: '#/$defs/node' } };

  it('are refused when they begin alike, because a grammar follows twice as many with each level', () => {
    expect(() => lenient(tree(object(child), object(child)))).toThrowError('begin alike');
    expect(() => lenient(tree(object(child), { type: 'object' }))).toThrowError('begin alike');
    expect(() => lenient(tree({ $ref: '#/$defs/node' }, { type: 'null' }))).toThrowError('begin alike');
  });

  it('are taken when a constant tells them apart', () => {
    const kind = (name: string) => object({ kind: { const: name }, ...child });
    expect(() => strict(tree(kind('a'), kind('b'), { type: 'array' }, { type: 'null' }))).not.toThrow();
  });

  it('are found out in little time, however they refer to each other', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 25 }, (_, index) => [
        `n${index}`,
        { anyOf: [{ $ref: `#/$defs/n${index + 1}` }, { $ref: `#/$defs/n${index + 1}` }] },
      ]),
    );
    expect(() => lenient({ $ref: '#/$defs/n0', $defs: { ...$defs, n25: { type: 'string' } } })).not.toThrow();
    expect(() => lenient({ $ref: '#/$defs/n0', $defs: { ...$defs, n25: { type: 'array' } } })).toThrowError(
      'begin alike',
    );
  });
});

function nested(levels: number): object {
  return levels === 0 ? { type: 'string' } : { type: 'array', items: nested(levels - 1) };
}
