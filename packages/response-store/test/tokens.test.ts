import { cancelled, completed, failed, nothingProduced, type ResponseEnd } from '@sluice/contract';
import { usageOf } from '@sluice/testing';
import type { AcceptResult } from '../src/index.ts';
import { describe, expect, it } from 'vitest';
import { type AcceptedOptions, storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

const limits = { tokensPerMinute: 1_000 };

async function ask(input: number, output: number, options: AcceptedOptions = {}): Promise<AcceptResult> {
  const { result } = await store.accepting({
    streams: false,
    limits,
    tokens: { input, output, mostInput: undefined },
    ...options,
  });
  return result;
}

async function accepted(input: number, output: number): Promise<string> {
  return store.accepted({ streams: false, limits, tokens: { input, output, mostInput: undefined } });
}

/** What is left of the minute, asked for with a response of no tokens. */
async function left(): Promise<number | undefined> {
  const result = await ask(0, 0);
  return result.kind === 'accepted' ? result.use.tokens?.remaining : undefined;
}

async function end(id: string, how: ResponseEnd): Promise<void> {
  await store.take(id, 'a');
  expect((await store.write(id, 'a', 3, [], how)).kind).toBe('ok');
}

const used = (total: number) => usageOf(1, total - 1);

describe('tokens per minute', () => {
  it('are reserved by the accept', async () => {
    const result = await ask(100, 300);
    expect(result).toMatchObject({
      kind: 'accepted',
      use: { requests: undefined, tokens: { limit: 1_000, remaining: 600 } },
    });
    if (result.kind !== 'accepted') throw new Error('refused');
    expect(result.use.tokens?.resetMs).toBeGreaterThan(58_000);
    expect(result.use.tokens?.resetMs).toBeLessThanOrEqual(60_000);
  });

  it('are settled with what was really used, when that is known', async () => {
    const less = await accepted(100, 300);
    await end(less, completed({ output: [], usage: used(150) }, 1));
    expect(await left()).toBe(850);
    const more = await accepted(100, 100);
    await end(more, completed({ output: [], usage: used(500) }, 1));
    expect(await left()).toBe(350);
  });

  it('come back after a failure that used none, and after a cancellation in the queue', async () => {
    await end(
      await accepted(100, 300),
      failed(nothingProduced, {
        code: 'server_error',
        message: 'It failed.',
        type: 'server_error',
        param: null,
      }),
    );
    expect(await left()).toBe(1_000);
    const waiting = await accepted(100, 300);
    expect(await left()).toBe(600);
    await store.caller.endIfQueued(waiting, cancelled(nothingProduced));
    expect(await left()).toBe(1_000);
  });

  it('stay taken as far as a response was run that is cancelled before the upstream counts', async () => {
    const claimed = await store.take(await accepted(100, 300), 'a');
    if (claimed.kind !== 'run') throw new Error(`not running: ${claimed.kind}`);
    const { signal } = new AbortController();
    const writer = store.attempts.writer(claimed.record, { onRefused: () => undefined, signal });
    expect(await writer.end(cancelled(nothingProduced), { uncounted: used(150) })).toBe('ok');
    expect(await left()).toBe(850);
  });

  it('stay reserved where nobody counted', async () => {
    await end(await accepted(100, 300), completed(nothingProduced, 1));
    expect(await left()).toBe(600);
  });

  it('refuse what does not fit, and say when it will', async () => {
    await accepted(0, 700);
    const result = await ask(100, 300);
    expect(result).toMatchObject({
      kind: 'tokens_limited',
      use: { tokens: { limit: 1_000, remaining: 300 } },
    });
    if (result.kind !== 'tokens_limited') throw new Error('accepted');
    expect(result.retryAfterMs).toBeGreaterThan(58_000);
    expect(result.retryAfterMs).toBeLessThanOrEqual(60_000);
    // A refusal has used nothing.
    expect(await left()).toBe(300);
    expect((await ask(100, 200)).kind).toBe('accepted');
    expect((await ask(0, 1)).kind).toBe('tokens_limited');
  });

  it('say of a request that asks for more than a minute has that waiting does not help', async () => {
    expect((await ask(500, 501)).kind).toBe('too_many_tokens');
    expect(await left()).toBe(1_000);
  });

  it('wait until enough of them have left the window, not only the first', async () => {
    const { client } = store.server;
    const key = store.keys.tokenRate('team-a');
    const [seconds] = await client.time();
    const now = Number(seconds);
    const buckets = { [(now - 40) % 60]: 100, [(now - 30) % 60]: 500, [(now - 10) % 60]: 400 };
    await client.hset(key, { ...buckets, sum: 1_000, last: now - 10 });
    const small = await ask(0, 100);
    const large = await ask(0, 300);
    if (small.kind !== 'tokens_limited' || large.kind !== 'tokens_limited') throw new Error('accepted');
    expect(small.retryAfterMs).toBeGreaterThan(17_000);
    expect(small.retryAfterMs).toBeLessThanOrEqual(20_000);
    expect(large.retryAfterMs).toBeGreaterThan(27_000);
    expect(large.retryAfterMs).toBeLessThanOrEqual(30_000);
  });

  it('are exact over many accepts at once', async () => {
    const results = await Promise.all(Array.from({ length: 60 }, () => ask(10, 30)));
    expect(results.filter(({ kind }) => kind === 'accepted')).toHaveLength(25);
    expect(await left()).toBe(0);
  });

  it('count what a response continues from, as it was counted', async () => {
    const first = await accepted(0, 100);
    await end(first, completed({ output: [], usage: used(250) }, 1));
    const next = await ask(10, 100, { previousId: first });
    // 250 used, and 250 of context with 110 of its own.
    expect(next).toMatchObject({ kind: 'accepted', use: { tokens: { remaining: 1_000 - 250 - 360 } } });
  });

  it('give nothing back to a minute that is over', async () => {
    const { client } = store.server;
    const id = await accepted(0, 400);
    // It was accepted long ago, and its tokens have left.
    await client.del(store.keys.tokenRate('team-a'));
    await store.change(id, { accepted_at: Date.now() - 120_000 });
    await end(id, completed({ output: [], usage: used(100) }, 1));
    expect(await left()).toBe(1_000);
    // What it took beyond them counts now.
    const more = await accepted(0, 400);
    await client.del(store.keys.tokenRate('team-a'));
    await store.change(more, { accepted_at: Date.now() - 120_000 });
    await end(more, completed({ output: [], usage: used(500) }, 1));
    expect(await left()).toBe(900);
  });

  it('are no limit to a tenant that has none', async () => {
    const id = await store.accepted({ tokens: { input: 1_000_000, output: 1, mostInput: undefined } });
    expect(await store.field(id, 'tokens')).toBeNull();
    expect(await store.server.client.exists(store.keys.tokenRate('team-a'))).toBe(0);
  });
});
