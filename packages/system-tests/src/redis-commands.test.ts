import { forAllTests, eventually, hasServer, startLocalRedis } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';

/** A few, since who waits for long looks at the record now and then. */
const callers = 8;
/**
 * One, so that a job waits whenever another one ends, however slow the machine is: a worker that looks into an empty queue costs
 * commands that are no response's. A run is short, because the journal of a worker has an entry more of each one that goes on while
 * its lines are sent.
 */
const slots = 1;
const input = 'Hi. [[sluice: tokens=1 first_token_ms=2]]';
const requests = 200;

/**
 * The console has a price of its own: an entry of the journal from each process that a response passes. Two commands of an
 * accept and two of an end count the bytes of their tenant (docs/decisions/0048-bytes-by-when-they-go.md).
 */
const kept = [
  { what: 'without a journal', console: { journal: false, statistics: false }, most: 65 },
  { what: 'with all that the console shows', console: { journal: true, statistics: true }, most: 67 },
];

// Both at once: each has a Redis of its own, and most of its time passes in the waits of its model.
describe.skipIf(!hasServer)('a synchronous response (needs a server on the PATH)', () => {
  describe.concurrent.each(kept)('$what', (about) => {
    // Commands are counted by the server, so it has to be a server that nobody else uses.
    const own = forAllTests(() => startLocalRedis({ kind: 'server' }));
    const service = testService(() => ({
      redisUrl: own.url,
      settings: {
        workerConcurrency: slots,
        console: about.console,
        // Those that are kept are so many a second, and more for each response the slower the machine.
        dashboard: { keepCompleted: 0 },
        providers: [{ id: 'local', type: 'simulator' }],
        models: [{ id: 'simulator', routes: [{ provider: 'local', model: 'simulator' }] }],
      },
    }));

    /** All commands so far, and the pings among them, which follow the clock and nothing else. */
    async function commandsSoFar(): Promise<{ all: number; pings: number }> {
      const text = await service.redis.client.info('commandstats');
      const counts = new Map(
        [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, count]) => [name, Number(count)]),
      );
      counts.delete('info'); // Asked here.
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return { all, pings: counts.get('ping') ?? 0 };
    }

    /** Commands by the clock for each ping, while nobody asks for anything: a slow machine has more of them for a response. */
    async function commandsOfAPing(): Promise<number> {
      const before = await commandsSoFar();
      const after = await eventually(
        async () => {
          const now = await commandsSoFar();
          return now.pings >= before.pings + 30 && now;
        },
        { timeoutMs: 60_000 },
      );
      return (after.all - before.all) / (after.pings - before.pings);
    }

    it(`costs Redis at most ${about.most} commands under load, those inside scripts and of the queue included`, {
      timeout: 300_000,
    }, async () => {
      const { caller } = service;
      const run = async (count: number) => {
        let left = count;
        await Promise.all(
          Array.from({ length: callers }, async () => {
            for (; left > 0; ) {
              left -= 1;
              const { status } = await caller.create({ input });
              expect(status).toBe(200);
            }
          }),
        );
      };
      const costOfEach = async () => {
        const before = await commandsSoFar();
        await run(requests);
        const after = await commandsSoFar();
        const byTheClock = (after.pings - before.pings) * (await commandsOfAPing());
        const each = (after.all - before.all - byTheClock) / requests;
        console.log(
          `${each.toFixed(1)} commands a response, beside ${(byTheClock / requests).toFixed(1)} by the clock`,
        );
        return each;
      };
      await run(50);
      // What a response costs comes each time. A machine that starves the callers leaves the queue empty now and then.
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < 12 && least > about.most; round += 1)
        least = Math.min(least, await costOfEach());
      expect(least).toBeLessThanOrEqual(about.most);
    });
  });
});
