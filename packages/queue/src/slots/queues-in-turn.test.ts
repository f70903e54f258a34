import { describe, expect, it } from 'vitest';
import { QueuesInTurn } from './queues-in-turn.ts';

const queuesUpTo = (count: number) => Array.from({ length: count }, (_each, at) => [`q${at}`, at] as const);
const always = () => Promise.resolve(true);

/** What is done with a queue: it is noted, and takes until the next step of the loop. */
function noted() {
  const names: string[] = [];
  const act = async (queue: string) => {
    names.push(queue);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { names, act };
}

/** Yes so many times, and no from then on. */
function yes(times: number) {
  let asked = 0;
  return () => Promise.resolve((asked += 1) <= times);
}

describe('a round of queues', () => {
  it('has sixteen of them at a time, and the next as soon as one is done', async () => {
    const done: (() => void)[] = [];
    let most = 0;
    const act = () => new Promise<void>((resolve) => void (most = Math.max(most, done.push(resolve))));
    const round = new QueuesInTurn().round({ queues: queuesUpTo(40), act, mayGoOn: always });
    for (let left = 40; left > 0; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const one = done.shift();
      if (!one) continue;
      one();
      left -= 1;
    }
    expect(await round).toEqual([]);
    expect(most).toBe(16);
  });

  it('goes on where the last one ended, with what was under way then', async () => {
    const turns = new QueuesInTurn();
    const { names, act } = noted();
    const queues = queuesUpTo(4);
    for (let at = 0; at < 4; at += 1) {
      const before = names.length;
      await turns.round({ queues, act, mayGoOn: yes(3) });
      expect(names).toHaveLength(before + 3);
    }
    // The first round ended while all of its three were under way.
    expect(names.slice(0, 6)).toEqual(['q0', 'q1', 'q2', 'q0', 'q1', 'q2']);
  });

  it('comes to every queue however early each ends', async () => {
    const turns = new QueuesInTurn();
    const names = new Set<string>();
    const act = (queue: string) => Promise.resolve(void names.add(queue));
    const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
    for (let at = 0; at < 10; at += 1) {
      const mayBegin = yes(1);
      await turns.round({
        queues: queuesUpTo(10),
        act,
        mayGoOn: async () => {
          await settled();
          return mayBegin();
        },
      });
    }
    expect(names.size).toBe(10);
  });

  it('begins with the first queue where the one that it ended at is gone', async () => {
    const turns = new QueuesInTurn();
    const { names, act } = noted();
    await turns.round({ queues: [['gone', 0]], act, mayGoOn: () => Promise.resolve(false) });
    await turns.round({ queues: queuesUpTo(2), act, mayGoOn: always });
    expect(names).toEqual(['q0', 'q1']);
  });

  it('tells all that went wrong, also where it cannot go on', async () => {
    let asked = 0;
    const mayGoOn = () => ((asked += 1) > 2 ? Promise.reject(new Error('away')) : Promise.resolve(true));
    const act = (queue: string) => Promise.reject(new Error(queue));
    const faults = await new QueuesInTurn().round({ queues: queuesUpTo(4), act, mayGoOn });
    expect(faults.map(String).toSorted()).toEqual(['Error: away', 'Error: q0', 'Error: q1']);
  });
});
