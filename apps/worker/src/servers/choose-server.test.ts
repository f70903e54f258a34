import { describe, expect, it } from 'vitest';
import { idleProvider } from '../../test/idle-upstreams.ts';
import type { ModelRoute } from '../model-routes.ts';
import { mostCallsToGoOn, orderServers, type ServerChoice } from './choose-server.ts';

const routeTo = (name: string, id = 'up'): ModelRoute => ({
  provider: idleProvider(id),
  model: 'm',
  server: { name, key: `${id} ${name}` },
});
const pool = (count: number) => Array.from({ length: count }, (_, at) => routeTo(`s${at}`));

function namesIn(
  routes: readonly ModelRoute[],
  choice: Partial<ServerChoice> & { loads?: Record<string, number> } = {},
) {
  const { loads = {}, ...rest } = choice;
  const ordered = orderServers(routes, {
    affinity: undefined,
    isOpen: () => true,
    loadOf: ({ name }) => loads[name] ?? 0,
    random: () => 0,
    ...rest,
  });
  return ordered.map(({ server, provider: { id } }) => server?.name ?? id);
}

const going = (key: string, previous?: string) => ({ affinity: { key, goesOn: true, previous } });

describe('the order of servers', () => {
  it('is the same for a key in every process, and another one for other keys', () => {
    const first = namesIn(pool(5), going('a'));
    expect(namesIn(pool(5).toReversed(), going('a'))).toEqual(first);
    const firsts = new Set(Array.from({ length: 40 }, (_, at) => namesIn(pool(5), going(`key ${at}`))[0]));
    expect(firsts.size).toBe(5);
  });

  it('changes for about one key in ten when a tenth server comes, and each of those goes to it', () => {
    const keys = Array.from({ length: 1_000 }, (_, at) => `key ${at}`);
    const moved = keys.filter((key) => namesIn(pool(9), going(key))[0] !== namesIn(pool(10), going(key))[0]);
    expect(moved.length).toBeGreaterThan(60);
    expect(moved.length).toBeLessThan(140);
    for (const key of moved) expect(namesIn(pool(10), going(key))[0]).toBe('s9');
  });

  it('spreads keys evenly', () => {
    const counts = new Map<string | undefined, number>();
    for (let at = 0; at < 5_000; at += 1) {
      const [first] = namesIn(pool(10), going(`key ${at}`));
      counts.set(first, (counts.get(first) ?? 0) + 1);
    }
    for (const count of counts.values()) expect(Math.abs(count - 500)).toBeLessThan(100);
  });

  it('begins with the server that ran the previous response', () => {
    for (const name of ['s0', 's1', 's2', 's3', 's4']) {
      expect(namesIn(pool(5), going('a', `up ${name}`))[0]).toBe(name);
    }
    expect(namesIn(pool(5), going('a', 'up gone'))).toEqual(namesIn(pool(5), going('a')));
  });

  it('goes on to the next in the order of the key when a server has its share', () => {
    const [first = '', second = '', ...rest] = namesIn(pool(4), going('a'));
    // 1.25 shares of nine calls are at most three. They are few, so there is room for one more.
    const loads = { [first]: 4, [second]: 2, ...Object.fromEntries(rest.map((name) => [name, 1])) };
    expect(namesIn(pool(4), { ...going('a'), loads })).toEqual([second, ...rest, first]);
    expect(namesIn(pool(4), { ...going('a'), loads: { ...loads, [first]: 3 } })[0]).toBe(first);
  });

  it('leaves room on a server for conversations that go on', () => {
    const [first = '', second = ''] = namesIn(pool(2), going('a'));
    // A share of twenty calls is ten: 1.1 of it for those that begin, 1.25 for those that go on.
    const loads = { [first]: 11, [second]: 8 };
    expect(namesIn(pool(2), { affinity: { key: 'a', goesOn: false }, loads })[0]).toBe(second);
    expect(namesIn(pool(2), { ...going('a'), loads })[0]).toBe(first);
  });

  it('keeps a conversation where one call is under way, which may be its own last one', () => {
    const [first = '', second = ''] = namesIn(pool(10), going('a'));
    expect(namesIn(pool(10), { ...going('a'), loads: { [first]: 1 } })[0]).toBe(first);
    expect(namesIn(pool(10), { affinity: { key: 'a', goesOn: false }, loads: { [first]: 1 } })[0]).toBe(
      second,
    );
    expect(namesIn(pool(10), { ...going('a'), loads: { [first]: 2 } })[0]).toBe(second);
  });

  it('takes a conversation that has to move for one that begins', () => {
    const [first = '', second = '', third = ''] = namesIn(pool(3), going('a'));
    // 1.25 shares of 32 calls are fourteen at most, and 1.1 are twelve.
    const loads = { [first]: 12, [second]: 5, [third]: 14 };
    expect(namesIn(pool(3), { ...going('a', `up ${third}`), loads })[0]).toBe(second);
    expect(namesIn(pool(3), { ...going('a'), loads })[0]).toBe(first);
  });

  it('counts the shares among the servers that take calls', () => {
    const [first = '', second = '', third = ''] = namesIn(pool(3), going('a'));
    const loads = { [first]: 0, [second]: 6, [third]: 4 };
    const isOpen = ({ server }: ModelRoute) => server?.name !== first;
    // Eleven calls on two servers are eight at most for each; on three servers they would be six.
    expect(namesIn(pool(3), { ...going('a'), isOpen, loads }).slice(0, 2)).toEqual([first, second]);
    expect(namesIn(pool(3), { ...going('a'), loads })).toEqual([first, third, second]);
  });

  it('begins with the less loaded of two without a key', () => {
    const loads = { s0: 4, s1: 3, s2: 0 };
    expect(namesIn(pool(3), { loads, random: () => 0 })).toEqual(['s1', 's0', 's2']);
    expect(namesIn(pool(3), { loads, random: () => 0.99 })[0]).toBe('s2');
  });

  it('leaves everything else in its place', () => {
    const plain: ModelRoute = { provider: idleProvider('plain'), model: 'm' };
    const routes = [plain, ...pool(3), routeTo('x', 'other'), routeTo('y', 'other')];
    const names = namesIn(routes, going('a'));
    expect(names[0]).toBe('plain');
    expect(names.slice(1, 4).toSorted()).toEqual(['s0', 's1', 's2']);
    expect(names.slice(4).toSorted()).toEqual(['x', 'y']);
    const without = [plain, { ...plain, model: 'n' }];
    expect(
      orderServers(without, { affinity: undefined, isOpen: () => true, loadOf: () => 0, random: () => 0 }),
    ).toBe(without);
  });
});

it('gives no server more than 1.25 of its share, and one call more of a few, however keys fall', () => {
  const routes = pool(10);
  const loads: Record<string, number> = {};
  for (let at = 0; at < 500; at += 1) {
    const key = at % 3 === 0 ? 'the same' : `key ${at % 7}`;
    const most = mostCallsToGoOn(routes.map(({ server }) => loads[server?.name ?? ''] ?? 0));
    const [first = ''] = namesIn(routes, { ...going(key), loads });
    loads[first] = (loads[first] ?? 0) + 1;
    expect(loads[first]).toBeLessThanOrEqual(most);
  }
  expect(Math.max(...Object.values(loads))).toBeLessThanOrEqual(63);
});
