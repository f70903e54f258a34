import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSettings } from '@sluice/config';
import { type Lease, ProcessLease } from '@sluice/response-store';
import { closeRedis, commandClient, createLogger, waitForRedis } from '@sluice/runtime';
import { latch, type TestRedis } from '@sluice/testing';
import { type ApiAddresses, ApiProcess, type ApiProcessOptions } from '../src/api-process.ts';
import { apiKeys, model, testSettings } from './test-api.ts';

/** The first connection is waited for this long, in milliseconds. */
const connectWithinMs = 2_000;

/**
 * The lease of an api process in the thread of its test, over a connection of its own. The thread that holds it otherwise loads its
 * sources anew for each api, which takes more processor time than all else of a start.
 */
export function leaseHere(keys: readonly string[], redisUrl: string): Lease {
  let stopHolding = () => Promise.resolve();
  return {
    async start() {
      const logger = createLogger({ name: 'api', level: 'silent' });
      const commands = commandClient(redisUrl, { logger, connectionName: 'sluice-lease' });
      const lease = new ProcessLease({ commands, keys, onError: () => undefined });
      stopHolding = async () => {
        await lease.stop();
        await closeRedis(commands);
      };
      await waitForRedis(commands, AbortSignal.timeout(connectWithinMs)).catch(() => undefined);
      await lease.start();
    },
    stop: () => stopHolding(),
  };
}

type LaunchOptions = Pick<ApiProcessOptions, 'settings' | 'watch' | 'replaced'>;

/** Settings with the keys and models of the tests. */
export function processSettings(redisUrl: string, keyPrefix: string): ApiProcessOptions['settings'] {
  return { ...testSettings(redisUrl, keyPrefix, {}), redisUrl };
}

/** Replaces the settings file in one step, so that nobody reads half of it. */
export async function saveSettings(directory: string, text: string): Promise<void> {
  await writeFile(join(directory, 'new.yaml'), text);
  await rename(join(directory, 'new.yaml'), join(directory, 'sluice.yaml'));
}

interface FileOptions {
  redis: Pick<TestRedis, 'url' | 'prefix'>;
  env?: Record<string, string> | undefined;
}

/** The settings of the file in a directory, which is looked at all the time. */
export function settingsOfFile(directory: string, { redis, env }: FileOptions): LaunchOptions {
  const { settings, watch } = openSettings({
    env: { REDIS_URL: redis.url, DATA_DIR: join(directory, 'data'), PORT: '0', ADMIN_PORT: '0', ...env },
    argv: ['--config', join(directory, 'sluice.yaml')],
    cwd: directory,
    role: 'api',
  });
  return {
    settings: { ...settings, redisUrl: redis.url, keyPrefix: `${redis.prefix}:` },
    watch: (options) => watch({ ...options, intervalMs: 5 }),
  };
}

/** Starts an api process whose log is kept, and does not wait for it. */
export function launchApi(options: LaunchOptions) {
  const lines: string[] = [];
  const listening = latch<ApiAddresses>();
  const ready = latch<ApiAddresses & { acceptsDevelopmentKey: boolean }>();
  const stopping = new AbortController();
  const api = new ApiProcess({
    ...options,
    logger: createLogger({
      name: 'api',
      level: 'info',
      destination: { write: (line: string) => lines.push(line) },
    }),
    onListening: (addresses) => listening.open(addresses),
    onReady: (addresses) => ready.open(addresses),
  });
  const started = api.start(stopping.signal);
  started.catch(() => undefined); // Tests await it, and it may reject before that.
  const stop = async () => {
    stopping.abort(new Error('the test is over'));
    await started.catch(() => undefined);
    await api.stop('requested');
  };
  return { api, started, stopping, listening, ready, lines, stop };
}

/** Starts an api process, and waits until it takes requests. */
export async function startApi(options: LaunchOptions) {
  const launched = launchApi(options);
  try {
    await launched.started;
  } catch (error) {
    await launched.stop();
    throw error;
  }
  return { ...launched, ...(await launched.ready.wait()) };
}

interface PostOptions {
  key?: string | undefined;
  headers?: Record<string, string>;
}

/** Asks an api for a response. */
export function postResponse(url: string, body: object, options: PostOptions = {}): Promise<Response> {
  const { key = apiKeys.first, headers } = options;
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, input: 'Hi', ...body }),
  });
}
