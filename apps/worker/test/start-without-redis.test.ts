import { createLogger } from '@sluice/runtime';
import { eventually, freePort, startLocalRedis, within } from '@sluice/testing';
import { afterEach, expect, it } from 'vitest';
import { listeningWorker } from './listening-worker.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Starts a worker for a Redis on this port of 127.0.0.1, and does not wait for it. */
function startWorker(port: number) {
  const lines: { msg: string; healthPort?: number }[] = [];
  const logger = createLogger({
    name: 'worker',
    level: 'info',
    // A line of the log is an object with a message.
    destination: { write: (line: string) => lines.push(JSON.parse(line) as { msg: string }) },
  });
  const file = `
providers: [{ id: local, type: simulator }]
models: [{ id: m, concurrency: 3, routes: [{ provider: local }] }]
`;
  const redis = { url: `redis://127.0.0.1:${port}`, prefix: 'late' };
  const { worker, ready } = listeningWorker(redis, file, { logger });
  const stopping = new AbortController();
  const started = worker.start(stopping.signal);
  started.catch(() => undefined); // Tests await it, and it may reject before that.
  cleanups.push(async () => {
    stopping.abort(new Error('the test is over'));
    await started.catch(() => undefined);
    await worker.stop('requested');
  });
  const healthUrl = async () => {
    const { healthPort } = await eventually(() => lines.find(({ msg }) => msg === 'worker listening'));
    return `http://127.0.0.1:${healthPort}`;
  };
  return { worker, started, stopping, ready, lines, healthUrl };
}

const statusOf = async (url: string) => (await fetch(url)).status;

it('waits for Redis, says so in its health checks, and goes on by itself when it is there', async () => {
  const port = await freePort();
  const { started, ready, lines, healthUrl } = startWorker(port);
  const url = await healthUrl();
  expect(await statusOf(`${url}/healthz`)).toBe(200);
  expect(await statusOf(`${url}/readyz`)).toBe(503);
  // Longer than a process once waited before it gave up.
  await eventually(() => lines.some(({ msg }) => msg === 'waiting for redis'));
  const redis = await startLocalRedis({ port });
  cleanups.push(() => redis.stop());
  await ready.wait();
  await started;
  await eventually(async () => (await statusOf(`${url}/readyz`)) === 200);
  // Five connections wait, and one line says it.
  expect(lines.filter(({ msg }) => msg === 'redis connection failed')).toEqual([]);
});

it('stops while it waits for Redis', async () => {
  const { worker, started, stopping, healthUrl } = startWorker(await freePort());
  const url = await healthUrl();
  stopping.abort(new Error('asked to stop'));
  await expect(started).rejects.toThrow('asked to stop');
  await within(worker.stop('requested'));
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});
