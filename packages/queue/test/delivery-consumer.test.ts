import { eventually, forEachTest, testRedis } from '@sluice/testing';
import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DeliveryConsumer, DeliveryQueue, queuePrefix, type Verdict } from '../src/index.ts';

const name = 'deliveries%';
const hour = 3_600_000;

const redis = forEachTest(testRedis);

const onError = (error: Error) => {
  throw error;
};

/** The pause behind a try that ended like this, in milliseconds, for a schedule of one hour. */
async function pauseBehind(verdict: Verdict, random: number): Promise<number> {
  const common = { keyPrefix: redis.prefix, name, onError };
  const deliveries = new DeliveryQueue({ ...common, connection: redis.client });
  const consumer = new DeliveryConsumer({
    ...common,
    connection: redis.connect(),
    concurrency: 1,
    lockMs: 3_000,
    stalledMs: 1_000,
    pausesMs: [hour],
    keep: { forMs: hour, count: 10 },
    random: () => random,
    run: () => Promise.resolve(verdict),
  });
  const queue = new Queue(name, { connection: redis.client, prefix: queuePrefix(redis.prefix) });
  onTestFinished(() => queue.close());
  onTestFinished(() => deliveries.close());
  onTestFinished(() => consumer.stop());
  await deliveries.add('a', {});
  consumer.start();
  return eventually(async () => {
    const [job] = await queue.getDelayed();
    expect(job?.delay).toBeGreaterThan(0);
    return job?.delay ?? 0;
  });
}

describe('the pause behind a failed try', () => {
  it('is never longer than the schedule says, so that its last try comes in time', async () => {
    expect(await pauseBehind({ kind: 'failed', note: 'away' }, 0.5)).toBe(0.95 * hour);
  });

  it('is never shorter than the other side asks for', async () => {
    const asked = { kind: 'failed', note: 'busy', waitMs: 2 * hour } as const;
    expect(await pauseBehind(asked, 0.5)).toBe(2.1 * hour);
  });
});
