import { completed, nothingProduced } from '@sluice/contract';
import { eventually, said, startRedisProxy, within } from '@sluice/testing';
import { Redis } from 'ioredis';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import {
  type AcceptedOptions,
  delta,
  scriptsSent,
  storeForEachTest,
  type StoreUnderTest,
} from './store-under-test.ts';

const store = storeForEachTest();

const end = completed(nothingProduced, 1_700_000_000);

const take = (id: string, token: string) => store.take(id, token, { maxAttempts: 9 });

async function running(options?: AcceptedOptions): Promise<string> {
  const id = await store.accepted(options);
  await take(id, 'a');
  return id;
}

function writer(id: string, options?: Parameters<StoreUnderTest['writer']>[1]) {
  const refused: string[] = [];
  const made = store.writer(id, { onRefused: (reason) => refused.push(reason), ...options });
  return { writer: made, refused };
}

/** The texts of all deltas in the log, checked to be numbered without a gap from 3. */
async function written(id: string): Promise<string[]> {
  const content = (await store.logOf(id)).slice(3).filter(([, json]) => json.includes('delta'));
  return content.map(([number, json], at) => {
    const event = JSON.parse(json) as { sequence_number: number; delta: string }; // written by this test
    expect([number, event.sequence_number]).toEqual([at + 3, at + 3]);
    return event.delta;
  });
}

/** A connection as a worker's writer has it: a command that lost its connection is rejected, never sent again. */
function writerConnection(url: string): Redis {
  const client = new Redis(url, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: () => 5,
    protocol: 2,
  });
  client.on('error', () => undefined); // Cut on purpose.
  onTestFinished(async () => client.disconnect());
  return client;
}

/** Counts the scripts that are sent from now on. */
function scriptCalls(): { count: () => number } {
  const sent = vi.spyOn(store.server.client, 'evalsha');
  return { count: () => sent.mock.calls.length };
}

describe('event writer', () => {
  it('writes events in order, numbered, and then the end', async () => {
    const id = await running();
    const { writer: made } = writer(id);
    made.write(delta('one'));
    await made.flush();
    made.write(delta('two'));
    made.write(delta('three'));
    expect(await made.end(end)).toBe('ok');
    expect(await written(id)).toEqual(['one', 'two', 'three']);
    expect((await store.logOf(id)).at(-1)).toEqual([6, '{"type":"response.completed"}']);
  });

  it('writes the last events and the end in one step, so that nobody finds an error without its end', async () => {
    const id = await running();
    const calls = vi.spyOn(store.server.client, 'evalsha');
    const { writer: made } = writer(id);
    made.write(delta('one'));
    expect(await made.end(end)).toBe('ok');
    expect(calls).toHaveBeenCalledTimes(1);
    expect(await written(id)).toEqual(['one']);
  });

  it('sends large events in more batches, and has its producer wait for them', async () => {
    const id = await running();
    const { writer: made } = writer(id);
    const calls = scriptCalls();
    const texts = Array.from({ length: 50 }, (_, at) => String(at % 10).repeat(100_000));
    for (const text of texts) made.write(delta(text));
    expect(made.isBehind).toBe(true);
    await made.flush();
    expect(made.isBehind).toBe(false);
    // Five of them fit into the 512 KiB of a batch.
    expect(calls.count()).toBe(10);
    expect(await written(id)).toEqual(texts);
    for (const text of texts.slice(0, 11)) made.write(delta(text));
    expect(await made.end(end)).toBe('ok');
    expect(calls.count()).toBe(13);
  });

  it('sends a burst in batches of at most a hundred', async () => {
    const id = await running();
    const calls = scriptCalls();
    const { writer: made } = writer(id);
    const texts = Array.from({ length: 1_050 }, (_, at) => String(at));
    for (const text of texts) made.write(delta(text));
    expect(made.isBehind).toBe(true);
    await made.flush();
    expect(made.isBehind).toBe(false);
    expect(await written(id)).toEqual(texts);
    expect(calls.count()).toBe(11);
  });

  it('writes nothing but the end of a response that is not streamed', async () => {
    const id = await running({ streams: false });
    expect(await store.logOf(id)).toEqual([]);
    expect(await store.caller.read(id)).toMatchObject({
      status: 'in_progress',
      sequenceNumber: 2,
      streams: false,
    });
    const calls = scriptCalls();
    const { writer: made } = writer(id, { streams: false });
    made.write(delta('one'));
    await made.flush();
    expect(await made.end(end)).toBe('ok');
    expect(await store.logOf(id)).toEqual([]);
    expect(await store.caller.read(id)).toMatchObject({
      status: 'completed',
      sequenceNumber: 3,
    });
    expect(calls.count()).toBe(1);
  });

  it('stops when it is superseded, and says so once', async () => {
    const id = await running();
    const { writer: made, refused } = writer(id);
    made.write(delta('one'));
    await made.flush();
    await take(id, 'b');
    for (const text of ['two', 'three', 'four']) {
      made.write(delta(text));
      await made.flush();
    }
    expect(refused).toEqual(['superseded']);
    expect(await made.end(end)).toBe('superseded');
    expect(await written(id)).toEqual(['one']);
  });

  it('stops at a log that has lost what it wrote, and says that nobody else writes', async () => {
    const id = await running();
    const { writer: made, refused } = writer(id);
    made.write(delta('one'));
    await made.flush();
    // As after a failover to a replica that had the claim and no event.
    await store.change(id, { seq: 2 });
    for (const text of ['two', 'three']) {
      made.write(delta(text));
      await made.flush();
    }
    expect(refused).toEqual(['events_lost']);
    expect(await made.end(end)).toBe('gap');
  });

  it('goes on after a cancellation, which it tells once', async () => {
    const id = await running();
    const { writer: made, refused } = writer(id);
    await store.caller.cancel(id, 'requested');
    for (const text of ['one', 'two']) {
      made.write(delta(text));
      await made.flush();
    }
    expect(refused).toEqual(['cancelled']);
    expect(await made.end(end)).toBe('ok');
    expect(await written(id)).toEqual(['one', 'two']);
  });

  it('learns that another end came first', async () => {
    const id = await running();
    const first = writer(id).writer;
    const second = writer(id).writer;
    expect(await first.end(end)).toBe('ok');
    second.write(delta('late'));
    expect(await second.end({ ...end, completed_at: 5 })).toBe('terminal');
  });

  it('gives up only when nobody waits for it any longer', async () => {
    const id = await running();
    const proxy = await startRedisProxy(inject('redisUrl'));
    const controller = new AbortController();
    const { writer: made, refused } = writer(id, {
      redis: writerConnection(proxy.url),
      signal: controller.signal,
    });
    await proxy.stop();
    made.write(delta('one'));
    const flushed = made.flush();
    controller.abort();
    await within(flushed);
    expect(refused).toEqual(['superseded']);
    expect(await made.end(end)).toBe('superseded');
  });

  it('leaves a log without gap or repeat although replies are lost and a zombie writes', async () => {
    const id = await running();
    await take(id, 'b');
    const proxy = await startRedisProxy(inject('redisUrl'));
    onTestFinished(() => proxy.stop());
    const { writer: made, refused } = writer(id, { redis: writerConnection(proxy.url), token: 'b' });
    proxy.loseEvery(7);

    let isOver = false;
    let fenced = 0;
    const zombie = (async () => {
      const connection = store.server.connect();
      for (let number = 3; !isOver; number += 1) {
        const { kind } = await store.write(id, 'a', number, ['{"type":"error"}'], undefined, {
          redis: connection,
        });
        expect(kind).toMatch(/^(superseded|terminal)$/);
        fenced += 1;
      }
    })();

    const texts = Array.from({ length: 600 }, (_, at) => String(at));
    for (const [at, text] of texts.entries()) {
      made.write(delta(text));
      if (at % 10 === 9) await made.flush();
    }
    expect(await made.end(end)).toBe('ok');
    isOver = true;
    await zombie;
    expect(await written(id)).toEqual(texts);
    expect(await store.logOf(id)).toHaveLength(604);
    expect(refused).toEqual([]);
    expect(proxy.lost).toBeGreaterThan(5);
    expect(fenced).toBeGreaterThan(0);
  });

  it('tells a defect to whoever waits for it, and lets nothing float', async () => {
    const id = await running();
    const broken = {
      evalsha: () => Promise.resolve('nonsense'),
      eval: () => Promise.resolve('nonsense'),
    } as unknown as Redis; // all that the writer calls
    const { writer: made, refused } = writer(id, { redis: broken });
    made.write(delta('one'));
    await eventually(() => refused.length > 0);
    expect(refused).toEqual(['failed']);
    made.write(delta('two'));
    await expect(made.flush()).rejects.toThrow(TypeError);
    await expect(made.end(end)).rejects.toThrow(TypeError);
  });

  it('sends the first events past what waits on the connection for masses', async () => {
    const id = await running();
    const bulk = { evalsha: () => new Promise(() => undefined) } as unknown as Redis; // never answers
    const { writer: made } = writer(id, { bulk });
    made.write(delta('one'));
    await within(made.flush());
    expect(await written(id)).toEqual(['one']);
  });

  it('sends an end that is large where it holds up nobody', async () => {
    const id = await running({ streams: false });
    const never = { evalsha: () => new Promise(() => undefined) } as unknown as Redis; // never answers
    const { writer: made } = writer(id, { streams: false, control: never });
    expect(await within(made.end({ ...end, output: [said('x'.repeat(100_000))] }))).toBe('ok');
  });

  const longEnd = { ...end, output: [said('x"'.repeat(700_000))] };
  const keyOf = (id: string) => store.caller.keys.of(id).end(id);

  it('sends a long end apart from the script, which takes it over with what else it keeps', async () => {
    const { client } = store.server;
    const id = await running({ streams: false });
    const { writer: made } = writer(id, { streams: false });
    expect(await within(made.end(longEnd))).toBe('ok');
    expect((await store.caller.readWhole(id))?.end).toEqual(longEnd);
    expect(await client.hget(store.keys.record(id), 'result')).toBe('');
    expect(await client.pttl(keyOf(id))).toBeGreaterThan(50_000);
    expect(await client.exists(store.caller.keys.of(id).endOf(id, 'a'))).toBe(0);
    await store.caller.erase(id, 'team-a');
    expect(await client.exists(keyOf(id))).toBe(0);
  });

  it('loses nothing of a long end although replies are lost', async () => {
    const proxy = await startRedisProxy(inject('redisUrl'));
    onTestFinished(() => proxy.stop());
    const id = await running({ streams: false });
    const { writer: made } = writer(id, { streams: false, redis: writerConnection(proxy.url) });
    proxy.loseEvery(5);
    const ending = made.end(longEnd);
    await eventually(() => proxy.lost >= 3);
    proxy.loseEvery(Number.POSITIVE_INFINITY);
    expect(await ending).toBe('ok');
    expect((await store.caller.readWhole(id))?.end).toEqual(longEnd);
  });

  it('writes a long end again when it was lost before the script came', async () => {
    const { client } = store.server;
    const id = await running({ streams: false });
    const own = store.caller.keys.of(id).endOf(id, 'a');
    let lost = 0;
    const forgetful = scriptsSent(client, async (send) => {
      if (lost < 1) lost += await client.del(own);
      return send();
    });
    const { writer: made } = writer(id, { streams: false, control: forgetful, bulk: forgetful });
    expect(await made.end(longEnd)).toBe('ok');
    expect(lost).toBe(1);
    expect((await store.caller.readWhole(id))?.end).toEqual(longEnd);
  });

  it('leaves nothing of a long end that was superseded, but what expires', async () => {
    const { client } = store.server;
    const id = await running({ streams: false });
    await take(id, 'b');
    const { writer: made } = writer(id, { streams: false });
    expect(await made.end(longEnd)).toBe('superseded');
    expect(await client.exists(keyOf(id))).toBe(0);
    expect(await client.pttl(store.caller.keys.of(id).endOf(id, 'a'))).toBeGreaterThan(0);
    const { writer: next } = writer(id, { streams: false, token: 'b' });
    expect(await next.end(end)).toBe('ok');
    expect((await store.caller.readWhole(id))?.end).toEqual(end);
  });
});
