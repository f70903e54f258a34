/**
 * The worker of the bare job: as many BullMQ workers as Sluice has for its slots, and one publish for each answer, or for
 * each piece of a streamed one as it arrives.
 */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { readPlace, wakeChannel } from '../place.ts';
import { callUpstream, streamUpstream } from '../upstream/call-upstream.ts';

const slotsPerWorker = 8;

const place = readPlace(process.env);
const { redisUrl, prefix, queueName, upstreamUrl, concurrency } = place;
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
const upstream = new Pool(upstreamUrl, { connections: concurrency });

const workers = Array.from(
  { length: Math.ceil(concurrency / slotsPerWorker) },
  () =>
    new Worker<{ prompt: string; model?: string }>(
      queueName,
      async ({ id, data: { prompt, model } }) => {
        const say = (text: string) => connection.publish(wakeChannel(place), `${id} ${text}`);
        // An empty text is the end of a stream, and else a failure, so that the caller does not wait for ever.
        if (model === undefined) await say(await callUpstream(upstream, prompt).catch(() => ''));
        else {
          for await (const piece of streamUpstream(upstream, { model, prompt })) void say(piece);
          await say('');
        }
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
