import { forAllTests, eventually, hasServer, startLocalRedis } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { pageFigure } from './operating-page.ts';
import { testService } from './service.ts';
import { runningAttempts } from './worker-metrics.ts';

/** Enough that what the server takes for itself does not count. */
const responses = 200;
const streams = 200;
const kilobyte = 'x'.repeat(1_024);

describe.skipIf(!hasServer)('what docs/operating.md says of sizes (needs a server on the PATH)', () => {
  // Keys and commands are those of the whole server, so nobody else may use it.
  const redis = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const service = testService(() => ({
    redisUrl: redis.url,
    settings: {
      workerConcurrency: streams,
      providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
      models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    },
  }));

  /**
   * What lies in all keys, in bytes, with the keys themselves.
   * The memory of the whole server would count the buffers of its connections too, which change with its load.
   */
  async function keyBytes(): Promise<number> {
    const { client } = service.redis;
    const usages = (await client.keys('*')).map(async (key) =>
      // Null of a key that has expired since.
      Number((await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')) ?? 0),
    );
    return (await Promise.all(usages)).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Sends as many requests, a few at a time. */
  async function send(count: number, request: () => Promise<unknown>): Promise<void> {
    let left = count;
    const one = async () => {
      while (left > 0) {
        left -= 1;
        await request();
      }
    };
    await Promise.all(Array.from({ length: 8 }, one));
  }

  /** What one such request leaves in Redis, in bytes. */
  async function bytesLeftBy(request: () => Promise<unknown>): Promise<number> {
    // Beyond what the sample of finished jobs keeps, which does not grow any more.
    await send(120, request);
    const before = await keyBytes();
    await send(responses, request);
    return ((await keyBytes()) - before) / responses;
  }

  it('holds for what is kept of a response', async () => {
    const input = `${kilobyte} [[sluice: tokens=250]]`;
    const whole = await bytesLeftBy(async () => {
      expect((await service.caller.create({ input })).body.status).toBe('completed');
    });
    const streamed = await bytesLeftBy(async () => {
      expect((await service.caller.stream({ input })).final.status).toBe('completed');
    });
    console.log(`${Math.round(whole)} bytes a response, ${Math.round(streamed)} with its events`);
    expect(whole).toBeLessThanOrEqual(pageFigure('a stored response, 1 KiB and 250 tokens, bytes of Redis'));
    expect(streamed).toBeLessThanOrEqual(pageFigure('the same with the log of its stream, bytes of Redis'));
  });

  it('holds for a stream that is open and silent', async () => {
    const { client } = service.redis;
    const commandsSoFar = async () => {
      const text = await client.info('commandstats');
      const calls = [...text.matchAll(/^cmdstat_[^:]+:calls=(\d+)/gm)];
      return calls.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    /** Commands in a second, those inside scripts included. A rate takes time; it is that of the server's clock. */
    const commandsEachSecond = async () => {
      const clock = async () => Number((await client.time())[0]);
      const [begun, before] = [await clock(), await commandsSoFar()];
      const over = await eventually(async () => {
        const now = await clock();
        return now >= begun + 5 && now;
      });
      return ((await commandsSoFar()) - before) / (over - begun);
    };
    const quiet = await commandsEachSecond();
    const leaving = new AbortController();
    const ended: string[] = [];
    const open = Array.from({ length: streams }, async () =>
      service.caller.stream({ input: 'Say nothing. [[sluice: hang]]' }, { signal: leaving.signal }).then(
        ({ final }) => ended.push(JSON.stringify(final)),
        (error: unknown) => ended.push(String(error)),
      ),
    );
    try {
      const { healthUrl = '' } = service.workers[0] ?? {};
      await eventually(async () => {
        const running = await runningAttempts(healthUrl);
        if (running === streams) return true;
        throw new Error(`${running} streams run, and ${ended.length} have ended: ${ended.join(', ')}`);
      });
      const commands = (await commandsEachSecond()) - quiet;
      console.log(`${(commands / streams).toFixed(2)} commands a second for a silent stream`);
      expect(commands / streams).toBeLessThanOrEqual(
        pageFigure('an open, silent stream, Redis commands a second'),
      );
    } finally {
      leaving.abort();
      await Promise.all(open);
    }
  });
});
