import { describe, expect, it } from 'vitest';
import { parseRedisAddress } from './redis-address.ts';

describe('an address of Redis', () => {
  it.each([
    ['redis://127.0.0.1', { kind: 'server' }, 'redis://127.0.0.1'],
    ['rediss://user:pa%40ss@db/2?family=6', { kind: 'server' }, 'rediss://user:pa%40ss@db/2?family=6'],
    [
      'redis://:pw@a:7000?cluster&nodes=b:7001,[::1]:7002&family=4',
      {
        kind: 'cluster',
        nodes: [
          { host: 'a', port: 7000 },
          { host: 'b', port: 7001 },
          { host: '::1', port: 7002 },
        ],
      },
      'redis://:pw@a:7000?family=4',
    ],
    [
      'redis://u:pw@a/1?sentinel=store&sentinelPassword=x%26y&nodes=b:26380',
      {
        kind: 'sentinel',
        name: 'store',
        password: 'x&y',
        nodes: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 26_380 },
        ],
      },
      'redis://u:pw@a/1',
    ],
  ])('%s says where the primary is', (text, topology, url) => {
    expect(parseRedisAddress(text)).toEqual({ url, topology, cell: '0' });
  });

  it.each([
    ['http://a', 'must be an address such as'],
    ['redis://', 'must be an address such as'],
    ['redis://a?cluster&sentinel=x', 'remove one of them'],
    ['redis://a?sentinel=', 'no name after'],
    ['redis://a?nodes=b:1', '`nodes` without'],
    ['redis://a?cluster&nodes=b', "has 'b' among its `nodes`"],
    ['redis://a?cluster&nodes=b:70000', "has 'b:70000' among"],
    ['redis://a/3?cluster', 'names a database'],
    ['redis://a?sentinelPassword=x', 'without `sentinel`'],
    ['redis://a?cell=', 'must be one letter or digit'],
  ])('%s is refused', (text, message) => {
    expect(() => parseRedisAddress(text)).toThrow(message);
  });
});
