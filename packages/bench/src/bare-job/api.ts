/**
 * The least that a queue can do: one BullMQ job for each request, and one message that wakes its caller, or one for each
 * piece of a stream. It promises nothing. It shows how much of the cost of a request is the queue's own.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Queue } from 'bullmq';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { readPlace, wakeChannel } from '../place.ts';

const place = readPlace(process.env);
const { redisUrl, prefix, queueName } = place;
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
const queue = new Queue<Order>(queueName, {
  connection,
  prefix,
  // The defaults of Sluice.
  defaultJobOptions: { removeOnComplete: { count: 100 }, removeOnFail: { count: 1_000 } },
});
const waiting = new Map<string, (text: string) => void>();
const subscriber = connection.duplicate();
subscriber.on('message', (_channel, message) => {
  const end = message.indexOf(' ');
  waiting.get(message.slice(0, end))?.(message.slice(end + 1));
});
await subscriber.subscribe(wakeChannel(place));

interface Order {
  prompt: string;
  /** The model of a stream. */
  model?: string;
}

const app = fastify();
app.post<{ Body: Required<Order> }>('/stream', ({ body }, reply) => {
  reply.hijack();
  void relay(body, reply.raw);
});
app.post<{ Body: { prompt: string } }>('/generate', (request) => generate(request.body.prompt));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url });

async function generate(prompt: string): Promise<{ output_text: string }> {
  const jobId = randomUUID();
  const answered = new Promise<string>((resolve) => waiting.set(jobId, resolve));
  await queue.add('generate', { prompt }, { jobId });
  const text = await answered;
  waiting.delete(jobId);
  if (text === '') throw new Error('the job failed');
  return { output_text: text };
}

/** Sends the pieces of an answer on as they come, read by nobody. */
async function relay(order: Required<Order>, caller: ServerResponse): Promise<void> {
  const jobId = randomUUID();
  caller.writeHead(200, { 'content-type': 'text/event-stream' });
  waiting.set(jobId, (piece) => {
    if (piece !== '') {
      caller.write(piece);
      return;
    }
    waiting.delete(jobId);
    caller.end();
  });
  await queue.add('stream', order, { jobId });
}

process.once('SIGTERM', () => void stop());

async function stop(): Promise<void> {
  await app.close();
  await queue.close();
  subscriber.disconnect();
  connection.disconnect();
  process.disconnect();
}
