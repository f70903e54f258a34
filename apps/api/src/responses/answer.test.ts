import { completed, responseFor } from '@sluice/contract';
import type { EndReading, OpenEnd, ResponseRecord } from '@sluice/response-store';
import { describe, expect, it } from 'vitest';
import { BodyBudget } from '../bodies/body-budget.ts';
import { holdWhenThereIsRoom } from '../plugins/caller.ts';
import { AcceptedResponse } from './accepted-response.ts';
import { answerOf, wholeAnswer } from './answer.ts';
import { CallerPresence } from './caller.ts';

const id = `create-response_${'a'.repeat(32)}`;
const largeBytes = 1_000_000;
const request = { model: 'm', instructions: 'Be brief.' };
const short: ResponseRecord = {
  id,
  tenant: 'a',
  status: 'in_progress',
  request: { model: 'm' },
  largeRequestBytes: largeBytes,
  serviceTier: 'default',
  queue: 'm',
  acceptedAt: 1_000,
  startedAt: 1_000,
  streams: false,
  sequenceNumber: 1,
  isEnqueued: true,
  end: undefined,
  longEndBytes: 0,
};
const end = completed({ output: [], usage: null }, 2);

/** A store with one large request, and the memory that is held for it when it is read and now. */
function storeOf(read: () => ResponseRecord | undefined) {
  const held = { now: 0, whenRead: [] as number[] };
  const hold = (bytes: number) => {
    held.now += bytes;
    return Promise.resolve(() => void (held.now -= bytes));
  };
  const store = {
    read: () => {
      held.whenRead.push(held.now);
      return Promise.resolve(read());
    },
    openEnd: () => Promise.reject(new Error('no end is long')),
    wasAskedToEnd: () => Promise.resolve(false),
  };
  return { store, hold, held };
}

describe('an answer with a large request', () => {
  it('is made once there is room to parse and print it, which is held until its reader has it', async () => {
    const { store, hold, held } = storeOf(() => ({ ...short, request }));
    const { response, free } = await answerOf(store, short, hold);
    expect(response).toMatchObject({ ...request, status: 'in_progress' });
    expect(held).toEqual({ now: 3 * largeBytes, whenRead: [3 * largeBytes] });
    free();
    expect(held.now).toBe(0);
  });

  it('tells how the response was found, although it has ended since', async () => {
    const { store, hold } = storeOf(() => ({ ...short, request, status: 'completed', end }));
    expect((await answerOf(store, short, hold)).response.status).toBe('in_progress');
  });

  it('tells the short members of one that is gone by then', async () => {
    const { store, hold } = storeOf(() => undefined);
    expect((await answerOf(store, short, hold)).response).toMatchObject({ model: 'm', instructions: null });
  });

  it('holds as much for a caller that has waited for the end', async () => {
    const { store, hold, held } = storeOf(() => ({ ...short, request }));
    const accepted = AcceptedResponse.takenFrom(short, store);
    const found = { kind: 'read', json: JSON.stringify({ id, sequence_number: 3, ...end }) } as const;
    const { response, free } = await wholeAnswer(store, found, { caller: { hold }, accepted });
    expect(response).toMatchObject({ ...request, status: 'completed' });
    expect(held).toEqual({ now: 3 * largeBytes, whenRead: [3 * largeBytes] });
    free();
    expect(held.now).toBe(0);
  });

  it('leaves nothing held when it cannot be read', async () => {
    const { store, hold, held } = storeOf(() => {
      throw new Error('Redis is away');
    });
    await expect(answerOf(store, short, hold)).rejects.toThrow('Redis is away');
    expect(held.now).toBe(0);
  });
});

describe('many answers with large requests and long ends', () => {
  const requestBytes = 100 * 1024;
  const endBytes = 1024 * 1024;
  const record = {
    ...short,
    status: 'completed',
    largeRequestBytes: requestBytes,
    longEndBytes: endBytes,
  } as const;

  function tenant() {
    const budget = new BodyBudget(() => 128 * 1024 * 1024);
    const presence = new CallerPresence();
    const hold = (bytes: number, withinMs?: number) =>
      holdWhenThereIsRoom(budget, { tenant: 'a', bytes, presence, withinMs });
    return { budget, hold };
  }

  /** Opens ends as the store does: the readers of a response share one. */
  function openingStore() {
    const open = new Map<string, { readers: number; free: () => void }>();
    return {
      read: () => Promise.resolve({ ...record, request }),
      async openEnd(responseId: string, { bytes, hold, holdBeside }: EndReading): Promise<OpenEnd> {
        for (;;) {
          const known = open.get(responseId);
          const free = known ? await holdBeside?.(0) : await hold(bytes);
          if (open.get(responseId) !== known) {
            free?.();
            continue;
          }
          const shared = known ?? { readers: 0, free: free ?? (() => undefined) };
          open.set(responseId, shared);
          shared.readers += 1;
          const close = () => {
            if (known) free?.();
            shared.readers -= 1;
            if (shared.readers > 0) return;
            open.delete(responseId);
            shared.free();
          };
          return { end, hollowBytes: 0, isOf: () => true, close };
        }
      },
    };
  }

  it('wait for none that waits for them', async () => {
    const { budget, hold } = tenant();
    const store = openingStore();
    const answers = Array.from({ length: 70 }, async (_, at) => {
      const { response, free } = await answerOf(store, { ...record, id: `r${at}` }, hold);
      await new Promise(setImmediate);
      free();
      return response.status;
    });
    expect(await Promise.all(answers)).toEqual(answers.map(() => 'completed'));
    expect(budget.held).toBe(0);
  });

  it('wait for none that waits for them where they share an end that takes nearly all', async () => {
    const { budget, hold } = tenant();
    const store = openingStore();
    const all = { ...record, longEndBytes: 63.8 * 1024 * 1024 };
    const answers = Array.from({ length: 4 }, async () => {
      const { free, heldBytes } = await answerOf(store, all, hold);
      expect(budget.held).toBeGreaterThanOrEqual(all.longEndBytes + requestBytes);
      await new Promise(setImmediate);
      free();
      return heldBytes;
    });
    expect(await Promise.all(answers)).toEqual(answers.map(() => requestBytes));
    expect(budget.held).toBe(0);
  });

  it('wait for none but others when their end takes all that a tenant may have', async () => {
    const { budget, hold } = tenant();
    const all = { ...record, longEndBytes: 70 * 1024 * 1024 };
    const { free } = await answerOf(openingStore(), all, hold);
    expect(budget.held).toBe(64 * 1024 * 1024);
    free();
    expect(budget.held).toBe(0);
  });
});

describe('an answer with a small request', () => {
  it('reads nothing and holds nothing', async () => {
    const { store, hold, held } = storeOf(() => undefined);
    const { response } = await answerOf(store, { ...short, request, largeRequestBytes: 0 }, hold);
    expect(response).toEqual({
      ...responseFor(request, { id, createdAt: 1, serviceTier: 'default' }),
      status: 'in_progress',
    });
    expect(held).toEqual({ now: 0, whenRead: [] });
  });
});
