/** The worker of the usual pattern: calls the model server and returns the answer as the result of the job. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { readPlace } from '../place.ts';
import { callUpstream } from '../upstream/call-upstream.ts';

const { redisUrl, prefix, queueName, upstreamUrl, concurrency } = readPlace(process.env);
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
const upstream = new Pool(upstreamUrl, { connections: concurrency });

const worker = new Worker<{ prompt: string }, { output_text: string }>(
  queueName,
  async (job) => ({ output_text: await callUpstream(upstream, job.data.prompt) }),
  { connection, prefix, concurrency },
);
await worker.waitUntilReady();
process.send?.({});

process.once('SIGTERM', () => void stop());

async function stop(): Promise<void> {
  await worker.close();
  await upstream.close();
  connection.disconnect();
  process.disconnect();
}
