/**
 * The usual way to put BullMQ behind HTTP, as tutorials show it. Add a job that carries the prompt, wait until the
 * queue's events say that it has finished, and answer with its return value.
 */
import { Queue, QueueEvents } from 'bullmq';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { readPlace } from '../place.ts';

const { redisUrl, prefix, queueName } = readPlace(process.env);
const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
const queue = new Queue<{ prompt: string }, { output_text: string }>(queueName, { connection, prefix });
const queueEvents = new QueueEvents(queueName, { connection: connection.duplicate(), prefix });
await queueEvents.waitUntilReady();

const app = fastify();
app.post<{ Body: { prompt: string } }>('/generate', (request) => generate(request.body.prompt));
const url = await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ url });

async function generate(prompt: string): Promise<{ output_text: string }> {
  const job = await queue.add('generate', { prompt });
  return job.waitUntilFinished(queueEvents);
}

process.once('SIGTERM', () => void stop());

async function stop(): Promise<void> {
  await app.close();
  await queueEvents.close();
  await queue.close();
  connection.disconnect();
  process.disconnect();
}
