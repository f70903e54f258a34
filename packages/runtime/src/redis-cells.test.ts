import { describe, expect, it } from 'vitest';
import { parseRedisAddress } from './redis-address.ts';
import { parseRedisCells, slotOfCell } from './redis-cells.ts';

describe('the addresses of cells', () => {
  it('are one for each primary, of which the first need not name its cell', () => {
    expect(parseRedisCells(' redis://a:1/2\nredis://b?cell=E&drain  rediss://c?sentinel=x&cell=s ')).toEqual([
      { name: '0', url: 'redis://a:1/2', isDraining: false },
      { name: 'E', url: 'redis://b?cell=E&drain', isDraining: true },
      { name: 's', url: 'rediss://c?sentinel=x&cell=s', isDraining: false },
    ]);
  });

  it('follow from their number in a cluster', () => {
    const cells = parseRedisCells('redis://u:p@a:7000?cluster&nodes=b:1&cells=3');
    expect(cells.map(({ name }) => name)).toEqual(['0', 'E', 's']);
    expect(cells.map(({ url }) => parseRedisAddress(url))).toEqual(
      ['0', 'E', 's'].map((cell) => ({
        url: 'redis://u:p@a:7000',
        cell,
        topology: {
          kind: 'cluster',
          nodes: [
            { host: 'a', port: 7000 },
            { host: 'b', port: 1 },
          ],
        },
      })),
    );
  });

  it.each([2, 3, 4, 6, 8])('of a cluster of %i primaries are spread over them evenly', (primaries) => {
    for (const count of [primaries, primaries * 2]) {
      const cells = parseRedisCells(`redis://a?cluster&cells=${count}`);
      const primariesOf = cells.map(({ name }) => Math.floor((slotOfCell(name) * primaries) / 16_384));
      expect(new Set(primariesOf).size).toBe(primaries);
      for (let primary = 0; primary < primaries; primary += 1)
        expect(primariesOf.filter((each) => each === primary)).toHaveLength(count / primaries);
    }
  });

  it.each([
    ['redis://a redis://b', "two addresses of the cell '0'"],
    ['redis://a redis://b?cell=E redis://c?cell=E', "two addresses of the cell 'E'"],
    ['redis://a redis://b?cell=ab', 'must be one letter or digit'],
    ['redis://a?cells=3', '`cells` without `cluster`'],
    ['redis://a?cluster&cells=3&cell=E', 'beside `cell`'],
    ['redis://a?cluster&cells=17', 'a number from 1 to 16'],
    ['redis://a?cluster&cells=0', 'a number from 1 to 16'],
    ['redis://a?cluster&cells=2&drain', '`drain` beside `cells`'],
    ['redis://a?drain redis://b?cell=E&drain', 'drains every cell'],
    ['  ', 'must be an address such as'],
  ])('%s are refused', (text, message) => {
    expect(() => parseRedisCells(text)).toThrow(message);
  });

  it('have the slots that a server gives their keys', () => {
    // CLUSTER KEYSLOT of a Redis 7.0.
    expect(slotOfCell('0')).toBe(13_907);
    expect(slotOfCell('123456789')).toBe(12_739);
  });
});
