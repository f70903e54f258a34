import { type ResponseRecord, UnknownVersion } from '@sluice/response-store';
import { expect, it } from 'vitest';
import { cancelWaiting, type Draining, waitingResponses } from './drain-queue.ts';

/** None of its responses has begun but `runs`, and `foreign` is of another release. */
const store = {
  read: (id: string) =>
    id === 'foreign'
      ? Promise.reject(new UnknownVersion('0'))
      : Promise.resolve({ status: id === 'runs' ? 'in_progress' : 'queued' } as ResponseRecord),
};

interface Asked {
  waitsFor: 'worker' | 'time' | 'claim';
  first: number;
}

/** The responses that are found waiting in a queue, whose ids the test gives. */
function waitingIn(waitingIds: (asked: Asked) => string[]): AsyncIterable<readonly string[]> {
  const queue = {
    waitingIds: async (_name: string, asked: Asked) => Promise.resolve(waitingIds(asked)),
    remove: () => Promise.resolve(),
  };
  return waitingResponses({ queue, store }, 'm');
}

async function allOf(waiting: AsyncIterable<readonly string[]>): Promise<string[]> {
  const found: string[] = [];
  for await (const ids of waiting) found.push(...ids);
  return found;
}

it('finds what a worker was given and has not begun', async () => {
  const jobs = { worker: ['a'], time: [], claim: ['runs', 'foreign', 'b', 'a'] };
  const waiting = waitingIn(({ waitsFor, first }) => jobs[waitsFor].slice(first));
  expect(await allOf(waiting)).toEqual(['a', 'b']);
});

it('misses nobody who is let in while it looks', async () => {
  const lists = { worker: ['a'], time: ['b', 'c'], claim: [] as string[] };
  const letIn = () => lists.worker.push(...lists.time.splice(0, 1));
  const waiting = waitingIn(({ waitsFor, first }) => {
    // The place that a cancelled one gave back is taken just before somebody looks there.
    if (waitsFor === 'time') letIn();
    return lists[waitsFor].slice(first, first + 100);
  });
  const found: string[] = [];
  for await (const ids of waiting) {
    found.push(...ids);
    for (const list of Object.values(lists))
      list.splice(0, list.length, ...list.filter((id) => !ids.includes(id)));
  }
  expect(found.toSorted()).toEqual(['a', 'b', 'c']);
});

it('finds what it can see of a line, and rejects where the rest cannot be read', async () => {
  const waiting = waitingIn(({ waitsFor, first }) => {
    if (waitsFor === 'worker' && first > 0) throw new Error('away');
    return waitsFor === 'claim' ? [] : [waitsFor].slice(first);
  });
  const found: string[] = [];
  const drain = async () => {
    for await (const ids of waiting) found.push(...ids);
  };
  await expect(drain()).rejects.toThrow('away');
  expect(found).toEqual(['worker', 'time']);
});

it('ends although some stay', async () => {
  const waiting = waitingIn(({ first }) => ['a', 'b'].slice(first));
  expect(await allOf(waiting)).toEqual(['a', 'b']);
});

it.each([
  ['one that it has ended', 'ended', { isCancelled: true, isRemoved: true }],
  ['one that has ended otherwise', 'terminal', { isCancelled: false, isRemoved: true }],
  ['one that is gone', 'missing', { isCancelled: false, isRemoved: true }],
  ['one that a worker has taken meanwhile', 'held', { isCancelled: false, isRemoved: false }],
  ['one that a worker has given back', 'given_back', { isCancelled: true, isRemoved: false }],
  ['one of another release', 'unknown_version', { isCancelled: false, isRemoved: false }],
] as const)('counts and takes away the job of %s as it should', async (_name, kind, expected) => {
  const removed: string[] = [];
  const hasBegun = kind === 'held' || kind === 'given_back';
  const draining: Draining = {
    store: {
      ...store,
      endIfQueued: () => {
        if (hasBegun) return Promise.resolve({ kind: 'begun' });
        return Promise.resolve(kind === 'ended' || kind === 'terminal' ? { kind, queue: 'm' } : { kind });
      },
      cancel: (_id, reason, options) => {
        if (!hasBegun) throw new Error('nobody is to be asked');
        expect([reason, options]).toEqual(['requested', { unlessHeld: true }]);
        return Promise.resolve(kind === 'held' ? { kind } : { kind: 'asked', isQueued: false });
      },
    },
    queue: {
      waitingIds: () => Promise.resolve([]),
      remove: (_queue: string, id: string) => Promise.resolve(void removed.push(id)),
    },
  };
  const isCancelled = await cancelWaiting(draining, 'm', 'a');
  expect({ isCancelled, isRemoved: removed.length > 0 }).toEqual(expected);
});
