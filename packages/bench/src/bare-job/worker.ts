/** The worker of the bare job: as many BullMQ workers as Sluice has for its slots, and one publish for each answer. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { readPlace, wakeChannel } from '../place.ts';
import { callUpstream } from '../upstream/call-upstream.ts';

const slotsPerWorker = 8;

const place = readPlace(process.env);
const { redisUrl, prefix, queueName, upstreamUrl, concurrency } = place;
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
const upstream = new Pool(upstreamUrl, { connections: concurrency });

const workers = Array.from(
  { length: Math.ceil(concurrency / slotsPerWorker) },
  () =>
    new Worker<{ prompt: string }>(
      queueName,
      async (job) => {
        // An empty answer means a failure, so that the caller does not wait for ever.
        const text = await callUpstream(upstream, job.data.prompt).catch(() => '');
        await connection.publish(wakeChannel(place), `${job.id} ${text}`);
      },
      { connection, prefix, concurrency: slotsPerWorker },
    ),
);
await Promise.all(workers.map((worker) => worker.waitUntilReady()));
process.send?.({});

process.once('SIGTERM', () => void stop());

async function stop(): Promise<void> {
  await Promise.all(workers.map((worker) => worker.close()));
  await upstream.close();
  connection.disconnect();
  process.disconnect();
}
