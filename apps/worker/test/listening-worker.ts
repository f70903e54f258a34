import { loadSettings } from '@sluice/config';
import { createProvider } from '@sluice/providers';
import { createLogger } from '@sluice/runtime';
import { latch, type TestRedis, type UpstreamHandler } from '@sluice/testing';
import { WorkerProcess, type WorkerProcessOptions } from '../src/worker-process.ts';

type WorkerRedis = Pick<TestRedis, 'url' | 'prefix'>;

interface WorkerParts extends Partial<Pick<WorkerProcessOptions, 'logger' | 'now'>> {
  /** May be less than the settings allow. */
  lockMs?: number | undefined;
}

/** Makes a worker with the settings of a file, which is added to what keeps it apart from other tests and lets it listen. */
export function listeningWorker(
  { url: redisUrl, prefix }: WorkerRedis,
  file: string,
  { lockMs, ...parts }: WorkerParts = {},
) {
  const settings = loadSettings({
    env: { REDIS_URL: redisUrl },
    argv: [],
    cwd: '/',
    role: 'worker',
    readFile: () => `keyPrefix: '${prefix}:'\nworkerHealthPort: 0\n${file}`,
  });
  const { providers, timeouts } = settings;
  const recovery = { ...settings.recovery, ...(lockMs !== undefined && { lockMs }) };
  const ready = latch<number>();
  const worker = new WorkerProcess({
    settings: { ...settings, recovery, redisUrl },
    providers: new Map(providers.map((each) => [each.id, createProvider(each, timeouts)])),
    createProvider: (each) => createProvider(each, timeouts),
    logger: createLogger({ name: 'worker', level: 'silent' }),
    onReady: ({ healthPort = 0 }) => ready.open(healthPort),
    ...parts,
  });
  return { worker, ready };
}

/** An upstream that says hello, and ends. */
export const hello: UpstreamHandler = async ({ stream }) => {
  const events = stream();
  await events.send({ choices: [{ index: 0, delta: { content: 'Hello' } }] });
  await events.send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  events.done();
};
