import { beforeEach, describe, expect, it } from 'vitest';
import { QueueKeeper } from './queue-keeper.ts';

/** The store: keys, and the queues that are paused. */
let store: Map<string, string>;
let paused: Set<string>;
let isAway: boolean;
beforeEach(() => {
  store = new Map();
  paused = new Set();
  isAway = false;
});

const empty = () => {
  store.clear();
  paused.clear();
};

async function answer<T>(read: () => T): Promise<T> {
  await Promise.resolve();
  if (isAway) throw new Error('Connection is closed.');
  return read();
}

function keeper() {
  const told: string[] = [];
  const errors: unknown[] = [];
  let fails = 0;
  const made = new QueueKeeper({
    key: 'mark',
    connection: {
      get: (key: string) => answer(() => store.get(key) ?? null),
      set: (key: string, value: string) =>
        answer(() => {
          if (store.has(key)) return null;
          store.set(key, value);
          return 'OK' as const;
        }),
    } as never, // The two commands that it sends, as it sends them.
    queues: { pausedNames: () => answer(() => [...paused]) },
    putBack: (names) => {
      if (fails > 0) {
        fails -= 1;
        return Promise.reject(new Error('not now'));
      }
      told.push(names.join());
      for (const name of names) paused.add(name);
      return Promise.resolve();
    },
    onError: (error) => errors.push(error),
  });
  return { look: () => made.look(), told, errors, failOnce: () => (fails = 1) };
}

describe('a store that was emptied', () => {
  it('gets back what was paused, once, by one of those who saw it', async () => {
    const [one, other] = [keeper(), keeper()];
    paused.add('q');
    await Promise.all([one.look(), other.look()]);
    empty();
    await Promise.all([one.look(), other.look()]);
    expect([...one.told, ...other.told].toSorted()).toEqual(['', 'q']);
    expect([...paused]).toEqual(['q']);
    await Promise.all([one.look(), other.look()]);
    expect(one.told.length + other.told.length).toBe(2);
  });

  it('gets nothing back that was resumed since, by one that was frozen meanwhile', async () => {
    const [one, frozen] = [keeper(), keeper()];
    paused.add('q');
    await Promise.all([one.look(), frozen.look()]);
    empty();
    await one.look();
    paused.delete('q');
    await frozen.look();
    expect([...paused]).toEqual([]);
    expect(frozen.told).toEqual(['']);
  });

  it('is noticed by those who saw it full, although a new process was first', async () => {
    const [one, late] = [keeper(), keeper()];
    paused.add('q');
    await one.look();
    empty();
    await late.look();
    expect(late.told).toEqual([]);
    await one.look();
    expect(one.told).toEqual(['q']);
  });

  it('is tried again when it could not be put back, and each time it is emptied', async () => {
    const one = keeper();
    paused.add('q');
    await one.look();
    empty();
    one.failOnce();
    await one.look();
    expect(one.errors).toHaveLength(1);
    await one.look();
    await one.look();
    empty();
    await one.look();
    expect(one.told).toEqual(['q', 'q']);
  });

  it('is not taken for one that is away, or from which somebody resumed a queue', async () => {
    const one = keeper();
    paused.add('q');
    await one.look();
    isAway = true;
    await one.look();
    isAway = false;
    paused.delete('q');
    await one.look();
    await one.look();
    expect(one.told).toEqual([]);
    expect(one.errors).toEqual([]);
  });
});
