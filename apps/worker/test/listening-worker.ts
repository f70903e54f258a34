import { loadSettings } from '@sluice/config';
import { createProvider } from '@sluice/providers';
import { createLogger } from '@sluice/runtime';
import { latch, type TestRedis, type UpstreamHandler } from '@sluice/testing';
import { WorkerProcess } from '../src/worker-process.ts';

/**
 * Starts a worker with the settings of a file, which is added to what keeps it apart from other tests and lets it listen.
 * Returns the port of its health listener. `onMade` gets the worker before it starts, so that it is stopped whatever happens.
 */
export async function startListeningWorker(
  { url: redisUrl, prefix }: Pick<TestRedis, 'url' | 'prefix'>,
  file: string,
  onMade: (worker: WorkerProcess) => void,
): Promise<number> {
  const settings = loadSettings({
    env: { REDIS_URL: redisUrl },
    argv: [],
    cwd: '/',
    role: 'worker',
    readFile: () => `keyPrefix: '${prefix}:'\nworkerHealthPort: 0\n${file}`,
  });
  const { providers, timeouts } = settings;
  const ready = latch<number>();
  const worker = new WorkerProcess({
    settings: { ...settings, redisUrl },
    providers: new Map(providers.map((each) => [each.id, createProvider(each, timeouts)])),
    createProvider: (each) => createProvider(each, timeouts),
    logger: createLogger({ name: 'worker', level: 'silent' }),
    onReady: ({ healthPort = 0 }) => ready.open(healthPort),
  });
  onMade(worker);
  await worker.start(new AbortController().signal);
  return ready.wait();
}

/** An upstream that says hello, and ends. */
export const hello: UpstreamHandler = async ({ stream }) => {
  const events = stream();
  await events.send({ choices: [{ index: 0, delta: { content: 'Hello' } }] });
  await events.send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  events.done();
};
