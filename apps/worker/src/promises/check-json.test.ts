import { describe, expect, it } from 'vitest';
import { checkJson } from './check-json.ts';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city', 'days'],
  additionalProperties: false,
};

describe('a strict schema', () => {
  it.each<[string, string, object?]>([
    ['satisfied', '{"city":"Oslo","days":2}'],
    ['satisfied', ' {"days":2,"city":""}\n'],
    ['not_satisfied', '{"city":"Oslo"}'],
    ['not_satisfied', '{"city":"Oslo","days":0}'],
    ['not_satisfied', '{"city":"Oslo","days":2,"more":1}'],
    ['not_satisfied', '[]'],
    ['not_satisfied', '{"city":"Oslo","days":2,"__proto__":1}'],
    ['not_json', ''],
    ['not_json', '{"city":"Oslo","days":2'],
    ['not_json', '```json\n{"city":"Oslo","days":2}\n```'],
    ['satisfied', '{"a":{"a":{}}}', { properties: { a: { $ref: '#' } }, additionalProperties: false }],
    ['not_satisfied', '{"a":{"b":{}}}', { properties: { a: { $ref: '#' } }, additionalProperties: false }],
    [
      'satisfied',
      '[1,"a"]',
      { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'number' }, {}] },
    ],
    ['not_satisfied', '["a"]', { prefixItems: [{ type: 'number' }] }],
    [
      'satisfied',
      '{"a/b~ %":"x"}',
      { properties: { 'a/b~ %': { $ref: '#/$defs/s~1~0%20%25' } }, $defs: { 's/~ %': { const: 'x' } } },
    ],
    ['not_satisfied', '"2026-13-01"', { format: 'date' }],
    ['satisfied', '"x"', { $id: 'urn:x', title: 5, 'x-own': { $ref: 'http://127.0.0.1/' } }],
    ['unknown', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, { items: { $ref: '#' } }],
    ['satisfied', `["${',[{'.repeat(200_000)}"]`, {}],
    ['unknown', `[${'[],'.repeat(200_000)}[]]`, {}],
    ['unknown', JSON.stringify('x'.repeat(16 * 1024 * 1024)), {}],
  ])('is %s by %.60s', (verdict, text, of = schema) => {
    expect(checkJson({ text, schema: of as Record<string, unknown> })).toBe(verdict);
  });

  it('is left as it was', () => {
    const own = { $defs: { a: {} }, properties: { b: { $ref: '#/$defs/a' } } };
    checkJson({ text: '{}', schema: own });
    expect(Reflect.ownKeys(own.properties.b)).toEqual(['$ref']);
  });
});
