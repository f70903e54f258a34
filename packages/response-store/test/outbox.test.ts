import { cancelled, completed } from '@sluice/contract';
import { eventually, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import {
  type EndFact,
  OutboxFollower,
  OutboxReader,
  type OutboxReaderOptions,
  type OutboxWriting,
  ResponseStore,
} from '../src/index.ts';
import { storeForEachTest } from './store-under-test.ts';

const outbox: OutboxWriting = { ends: 'background', most: 1_000 };
const usage = usageOf(12, 7, { cached: 4, cacheWrite: 1, reasoning: 2 });
const anEnd = completed({ output: [], usage }, 1);

const store = storeForEachTest();

const two = ['webhooks', 'usage'];

function aReader(options: Partial<OutboxReaderOptions> = {}): OutboxReader {
  return new OutboxReader({
    redis: store.server.client,
    keys: store.keys,
    reader: 'webhooks',
    readers: ['webhooks'],
    process: 'one',
    leaseMs: 60_000,
    count: 100,
    ...options,
  });
}

async function anEnded(writing: OutboxWriting | null = outbox): Promise<string> {
  const responseId = await store.running('a', { streams: false });
  await store.write(responseId, 'a', 3, [], anEnd, { outbox: writing ?? undefined });
  return responseId;
}

/** A store whose ends are told. */
function aTellingStore(writing = outbox): ResponseStore {
  const { client, prefix } = store.server;
  return new ResponseStore({
    commands: client,
    largeValues: client,
    keyPrefix: `${prefix}:`,
    retention: { responseSeconds: 600, eventLogSeconds: 600 },
    outbox: writing,
  });
}

const idsOf = (taken: Awaited<ReturnType<OutboxReader['take']>>) =>
  taken?.entries.map(({ fact }) => fact?.id);

describe('the outbox', () => {
  it('has what is known of an end', async () => {
    const responseId = await anEnded();
    const taken = await aReader().take([]);
    expect(taken).toEqual({
      lost: 0,
      isFull: false,
      entries: [{ id: expect.any(String), fact: expect.anything() }],
    });
    const [entry] = taken?.entries ?? [];
    expect(entry?.fact).toStrictEqual({
      id: responseId,
      status: 'completed',
      tenant: 'team-a',
      tier: 'default',
      key: 'a1b2c3d4e5f60718',
      background: true,
      model: 'simulator',
      usage: { input: 12, cached: 4, cacheWrite: 1, output: 7, reasoning: 2 },
      acceptedAt: expect.any(Number),
      startedAt: expect.any(Number),
      endedAt: expect.any(Number),
      spend: undefined,
    } satisfies EndFact);
  });

  it('has an end once, also when its call is repeated after a lost reply', async () => {
    const responseId = await anEnded();
    await store.write(responseId, 'a', 3, [], anEnd, { outbox });
    expect(idsOf(await aReader().take([]))).toEqual([responseId]);
  });

  it('has the end of a response that never ran', async () => {
    const responseId = await store.accepted();
    await aTellingStore().endIfQueued(responseId, cancelled({ output: [], usage: null }), 'requested');
    const [entry] = (await aReader().take([]))?.entries ?? [];
    expect(entry?.fact).toMatchObject({ id: responseId, status: 'cancelled', startedAt: undefined });
  });

  it('has all that is told of a large request, however it ends', async () => {
    const request = {
      instructions: 'x'.repeat(100_000),
      metadata: { label: 'red' },
      webhook_url: 'https://hooks.example/a',
    };
    const writing = { ...outbox, label: 'label' };
    const queued = await store.accepted({ request });
    await aTellingStore(writing).endIfQueued(queued, cancelled({ output: [], usage: null }));
    const claimed = await store.accepted({ request, fields: { cancel: 'requested' } });
    const claim = await store.take(claimed, 'a');
    if (claim.kind !== 'end') throw new Error(`not to be ended: ${claim.kind}`);
    const writer = store.writer(claimed, { ...claim.record, outbox: writing });
    expect(await writer.end(cancelled({ output: [], usage: null }))).toBe('ok');
    const facts = (await aReader().take([]))?.entries.map(({ fact }) => fact);
    const told = { label: 'red', webhookUrl: request.webhook_url };
    expect(facts).toMatchObject([
      { id: queued, ...told },
      { id: claimed, ...told },
    ]);
  });

  it('has nothing of a response that was refused', async () => {
    const responseId = await store.accepted({ background: false });
    await store.caller.abandon(responseId, Date.now() + 60_000);
    await aTellingStore().endIfQueued(responseId, cancelled({ output: [], usage: null }));
    await anEnded();
    expect(idsOf(await aReader().take([]))).not.toContain(responseId);
  });

  it('has nothing of a response whose caller waits for it', async () => {
    const responseId = await store.running('a', { background: false, watchers: ['1'] });
    await store.write(responseId, 'a', 3, [], anEnd, { outbox });
    expect(await store.server.client.exists(store.keys.outbox)).toBe(0);
  });

  it('has the end of a response whose caller waits for it, where all are read', async () => {
    const responseId = await store.running('a', { background: false, watchers: ['1'] });
    await store.write(responseId, 'a', 3, [], anEnd, { outbox: { ...outbox, ends: 'all' } });
    const [entry] = (await aReader().take([]))?.entries ?? [];
    expect(entry?.fact).toMatchObject({ id: responseId, background: false, usage: { input: 12 } });
  });

  it('has nothing where nobody reads it', async () => {
    await anEnded(null);
    expect(await store.server.client.exists(store.keys.outbox)).toBe(0);
  });

  it('gives what was not told again, and the rest behind it', async () => {
    const first = await anEnded();
    const second = await anEnded();
    const reader = aReader({ count: 1 });
    const taken = await reader.take([]);
    expect(idsOf(taken)).toEqual([first]);
    expect(idsOf(await reader.take([]))).toEqual([first]);
    const told = taken?.entries.map(({ id }) => id) ?? [];
    expect(idsOf(await reader.take(told))).toEqual([second]);
    // The same call again, after its reply was lost.
    expect(idsOf(await reader.take(told))).toEqual([second]);
  });

  it('is read by one process for a reader, until that is silent', async () => {
    const responseId = await anEnded();
    expect(idsOf(await aReader().take([]))).toEqual([responseId]);
    expect(await aReader({ process: 'two' }).take([])).toBeUndefined();
    await store.server.client.del(store.keys.outboxLease('webhooks'));
    expect(idsOf(await aReader({ process: 'two' }).take([]))).toEqual([responseId]);
    expect(await aReader().take([])).toBeUndefined();
  });

  it('keeps an end until every reader has told it', async () => {
    const responseId = await anEnded();
    const readers = [aReader({ readers: two }), aReader({ reader: 'usage', readers: two })] as const;
    const [one, other] = await Promise.all(readers.map((reader) => reader.take([])));
    expect([idsOf(one), idsOf(other)]).toEqual([[responseId], [responseId]]);
    const told = one?.entries.map(({ id }) => id) ?? [];
    await readers[0].take(told);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(1);
    await readers[1].take(told);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(0);
  });

  it('keeps an end for a reader that has not come yet', async () => {
    const responseId = await anEnded();
    const reader = aReader({ readers: two });
    await reader.take((await reader.take([]))?.entries.map(({ id }) => id) ?? []);
    expect(idsOf(await aReader({ reader: 'usage', readers: two }).take([]))).toEqual([responseId]);
  });

  it('keeps an end for a reader that was switched off, until that is forgotten', async () => {
    const responseId = await anEnded();
    await aReader({ reader: 'usage', readers: two }).take([]);
    await aReader({ readers: two }).take([]);
    const alone = aReader({ process: 'one' });
    const told = (await alone.take([]))?.entries.map(({ id }) => id) ?? [];
    await alone.take(told);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(1);
    expect(idsOf(await aReader({ reader: 'usage', readers: two }).take([]))).toEqual([responseId]);
    // One that reads is not forgotten, whatever this process is told.
    await aReader({ reader: 'usage', readers: two, forgetMs: 0 }).take([]);
    await aReader({ forgetMs: 0 }).take(told);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(0);
    // When it is switched on again it is told what ends from then on.
    const later = await anEnded();
    expect(idsOf(await aReader({ reader: 'usage', readers: two }).take([]))).toEqual([later]);
  });

  it('keeps an end for a reader that was never there, until that is forgotten', async () => {
    await anEnded();
    const told = (await aReader({ readers: two }).take([]))?.entries.map(({ id }) => id) ?? [];
    await aReader().take(told);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(1);
    await aReader({ forgetMs: 0 }).take(told);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(0);
  });

  it('says how many ends went before they were read', async () => {
    const reader = aReader();
    await anEnded();
    await reader.take((await reader.take([]))?.entries.map(({ id }) => id) ?? []);
    for (let at = 0; at < 5; at += 1) await anEnded();
    // As `MAXLEN` does, which cuts whole nodes of the stream alone.
    await store.server.client.xtrim(store.keys.outbox, 'MAXLEN', '=', 2);
    const taken = await reader.take([]);
    expect([taken?.lost, taken?.entries.length]).toEqual([3, 2]);
    expect((await reader.take([]))?.lost).toBe(0);
  });

  it('has no fact of an end that went after it was given and before it was told', async () => {
    await anEnded();
    const reader = aReader();
    await reader.take([]);
    await store.server.client.xtrim(store.keys.outbox, 'MAXLEN', '=', 0);
    expect((await reader.take([]))?.entries.map(({ fact }) => fact)).toEqual([undefined]);
  });

  it('never holds many more than it may', async () => {
    const ids = await Promise.all(Array.from({ length: 250 }, () => anEnded({ ...outbox, most: 10 })));
    expect(ids).toHaveLength(250);
    expect(await store.server.client.xlen(store.keys.outbox)).toBeLessThan(130);
  });

  it('goes on after the store was emptied', async () => {
    const reader = aReader();
    await anEnded();
    const told = (await reader.take([]))?.entries.map(({ id }) => id) ?? [];
    await store.server.client.del(store.keys.outbox, store.keys.outboxLease('webhooks'));
    expect(await reader.take(told)).toMatchObject({ entries: [] });
    const responseId = await anEnded();
    expect(idsOf(await reader.take([]))).toEqual([responseId]);
  });
});

describe('a follower of the outbox', () => {
  it('tells every end, and again those of a telling that failed', async () => {
    const told: string[][] = [];
    const errors: unknown[] = [];
    const follower = new OutboxFollower({
      reader: aReader(),
      tell: async (ends) => {
        told.push(ends.map(({ id }) => id));
        if (told.length === 1) throw new Error('away');
      },
      onLost: () => undefined,
      onError: (error) => errors.push(error),
      everyMs: 1,
      againMs: 1,
    });
    const responseId = await anEnded();
    follower.start();
    await eventually(() => expect(told).toEqual([[responseId], [responseId]]));
    const second = await anEnded();
    await eventually(() => expect(told.at(-1)).toEqual([second]));
    await follower.stop();
    expect(errors).toHaveLength(1);
    expect(await store.server.client.xlen(store.keys.outbox)).toBe(0);
  });

  it('tells nothing again after it could not read for a while', async () => {
    const reader = aReader();
    const told: string[] = [];
    let refusals = 0;
    const follower = new OutboxFollower({
      // Nothing can be read from the end that it has told until it was tried twice.
      reader: {
        take: async (ids) => (told.length > 0 && (refusals += 1) <= 2 ? undefined : reader.take(ids)),
      },
      tell: async (ends) => void told.push(...ends.map(({ id }) => id)),
      onLost: () => undefined,
      onError: () => undefined,
      everyMs: 1,
      againMs: 1,
    });
    const first = await anEnded();
    follower.start();
    await eventually(() => expect(refusals).toBeGreaterThan(2));
    const second = await anEnded();
    await eventually(() => expect(told).toContain(second));
    await follower.stop();
    expect(told).toEqual([first, second]);
  });

  it('leaves what it has not told to another one', async () => {
    const responseId = await anEnded();
    const away = aReader({ process: 'dead' });
    await away.take([]); // and dies
    await store.server.client.del(store.keys.outboxLease('webhooks'));
    const told: string[] = [];
    const follower = new OutboxFollower({
      reader: aReader({ process: 'two' }),
      tell: async (ends) => void told.push(...ends.map(({ id }) => id)),
      onLost: () => undefined,
      onError: () => undefined,
      everyMs: 1,
    });
    follower.start();
    await eventually(() => expect(told).toEqual([responseId]));
    await follower.stop();
  });
});
