import { describe, expect, it } from 'vitest';
import { scanStructure, structureLimits } from './scan-structure.ts';

const scan = (json: string) => scanStructure(Buffer.from(json));
const list = (length: number, element = '0') => `[${Array.from({ length }, () => element).join(',')}]`;
const object = (length: number) => `{${Array.from({ length }, (_, at) => `"k${at}":0`).join(',')}}`;
const { depth, children, total, outsideStrings } = structureLimits;

describe('a scan of the structure', () => {
  it.each<[string, string, number]>([
    ['nothing', '', 0],
    ['members of all levels', '{"a":{"b":[{"c":0}]},"d":0}', 4],
    ['a member named twice', '{"a":0,"a":0}', 2],
    ['no colon of a string', '{"a:b":"{\\"c\\":[,,,]}"}', 1],
    ['nothing behind an escaped quote', '{"\\\\\\"":":","\\\\":0}', 2],
    ['nothing of a string without an end', '{"a":":::', 1],
    ['no colon of a long string', JSON.stringify({ a: '\\":'.repeat(1_000), b: ':'.repeat(200) }), 2],
  ])('counts %s', (_what, json, members) => {
    const bytes = Buffer.byteLength(json);
    const all: unknown = expect.any(Number);
    expect(scan(json)).toEqual({ kind: 'within_limits', members, total: all, bytes });
  });

  it.each<[string, number]>([
    ['{}', 0],
    ['{"a":[1,2,{"b":[]}],"c":"x"}', 6],
    [JSON.stringify([['a,b', 'c'], []]), 4],
  ])('counts members and elements of %s', (json, all) => {
    expect(scan(json)).toMatchObject({ kind: 'within_limits', total: all });
  });

  it('finds the end of a string wherever it stands and whatever is escaped before it', () => {
    for (let length = 0; length < 200; length += 1) {
      for (const slashes of [0, 1, 2, 3]) {
        const json = JSON.stringify({ [`${'x'.repeat(length)}${'\\'.repeat(slashes)}":{`]: ':' });
        expect(scan(json)).toMatchObject({ kind: 'within_limits', members: 1 });
      }
    }
  });

  it.each<[string, string]>([
    ['nesting', '['.repeat(depth) + ']'.repeat(depth)],
    ['elements of a list', list(children)],
    ['members of an object', object(children)],
    ['members in all', list(5, list(total / 5 - 1))],
    ['members in all, all empty', list(5, list(total / 5 - 1, '{}'))],
    ['bytes outside of strings', ' '.repeat(outsideStrings)],
    ['bytes of a string', JSON.stringify(' '.repeat(2 * outsideStrings))],
  ])('lets pass as many %s as there may be', (_what, json) => {
    expect(scan(json).kind).toBe('within_limits');
  });

  // How far it went is what the refusal of a large body costs.
  it.each<[string, string, RegExp, number]>([
    ['nesting', '['.repeat(1_000_000), /deeper than 64 levels/, depth + 1],
    ['nesting of objects', '{"a":'.repeat(200_000), /deeper than 64 levels/, 5 * depth + 1],
    ['elements of a list', list(1_000_000), /list with more than 10000 members/, 2 * children + 1],
    ['empty objects', list(1_000_000, '{}'), /list with more than 10000 members/, 3 * children + 1],
    ['members of an object', object(190_000), /object or a list with more than 10000/, 10 * children],
    ['members in all', list(10_000, list(10)), /more than 50000 members in all/, 2.3 * total],
    ['white space', ' '.repeat(30_000_000), /bytes outside of strings/, outsideStrings + 1],
    ['digits', '7'.repeat(30_000_000), /bytes outside of strings/, outsideStrings + 1],
    ['numbers', list(9_999, '1e999'.repeat(200)), /bytes outside of strings/, outsideStrings + 1],
  ])('stops at the first of too many %s', (_what, json, message, most) => {
    const found = scan(json);
    expect(found).toMatchObject({ kind: 'refused', message: expect.stringMatching(message) });
    expect(found.bytes).toBeLessThanOrEqual(most);
  });

  it('looks at the bytes of a long string a handful of times at most', () => {
    const counted = new Uint8Array(Buffer.from(JSON.stringify('\\"'.repeat(100_000))));
    let reads = 0;
    const watched = new Proxy(counted, {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    expect(scanStructure(watched).kind).toBe('within_limits');
    expect(reads).toBeLessThan(4 * counted.length);
  });
});
