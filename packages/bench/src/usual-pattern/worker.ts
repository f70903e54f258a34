/** The worker of the usual pattern: calls the model server and returns the answer as the job's result. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { modelName } from '../upstream/no-op-answer.ts';
import { readPlace } from './place.ts';

const { redisUrl, prefix, queueName, upstreamUrl, concurrency } = readPlace(process.env);
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
const upstream = new Pool(upstreamUrl, { connections: concurrency });
const model = modelName({ tokens: 1, intervalMs: 0 });

const worker = new Worker<{ prompt: string }, { output_text: string }>(
  queueName,
  async (job) => ({ output_text: await generate(job.data.prompt) }),
  { connection, prefix, concurrency },
);
await worker.waitUntilReady();
process.send?.({});

async function generate(prompt: string): Promise<string> {
  const { statusCode, body } = await upstream.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: prompt }], stream: true }),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`the upstream answered ${statusCode}`);
  return text.split('\n').map(contentOf).join('');
}

function contentOf(line: string): string {
  if (!line.startsWith('data: {')) return '';
  // What the upstream of this benchmark sends.
  const chunk = JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] };
  return chunk.choices[0]?.delta.content ?? '';
}

process.once('SIGTERM', () => void stop());

async function stop(): Promise<void> {
  await worker.close();
  await upstream.close();
  connection.disconnect();
  process.disconnect();
}
