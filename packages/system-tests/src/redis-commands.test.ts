import { hasServer, type LocalRedis, startLocalRedis } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';

const callers = 64;
/**
 * So few and so slow that a job waits whenever another one ends, however slow the machine is: a worker that looks into an empty
 * queue costs commands that are no response's.
 */
const slots = 4;
const input = 'Hi. [[sluice: tokens=1 first_token_ms=40]]';
const requests = 1_000;

/**
 * What is kept for the console has a price of its own: an entry of the journal from each process that a response passes. Two commands of an
 * accept and two of an end count the bytes of their tenant (docs/decisions/0048-bytes-by-when-they-go.md).
 */
const kept = [
  { what: 'without a journal', console: { journal: false, statistics: false }, most: 66 },
  { what: 'with all that the console shows', console: { journal: true, statistics: true }, most: 69 },
];

describe.skipIf(!hasServer).each(kept)(
  'a synchronous response, $what (needs a server on the PATH)',
  (about) => {
    let own: LocalRedis;
    let service: Service;

    beforeAll(async () => {
      // Commands are counted by the server, so it has to be a server that nobody else uses.
      own = await startLocalRedis({ kind: 'server' });
      service = await startService({
        redisUrl: own.url,
        settings: {
          workerConcurrency: slots,
          console: about.console,
          providers: [{ id: 'local', type: 'simulator' }],
          models: [{ id: 'simulator', routes: [{ provider: 'local', model: 'simulator' }] }],
        },
      });
    });
    afterAll(async () => {
      await service?.stop();
      await own?.stop();
    });

    async function commandsSoFar(): Promise<number> {
      const text = await service.redis.client.info('commandstats');
      return [...text.matchAll(/^cmdstat_[^:]+:calls=(\d+)/gm)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    }

    it(`costs Redis at most ${about.most} commands under load, those inside scripts and of the queue included`, async () => {
      const caller = callerOf(service.apiUrls[0] ?? '', service.key);
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
      await run(200);
      const before = await commandsSoFar();
      await run(requests);
      const each = (await commandsSoFar()) - before;
      console.log(`${(each / requests).toFixed(1)} commands a response`);
      expect(each / requests).toBeLessThanOrEqual(about.most);
    });
  },
);
