import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child-process.ts';

/** The command, as `bundleCommand` makes it. */
const main = fileURLToPath(new URL('../../../apps/sluice/dist/main.js', import.meta.url));

export interface ServiceOptions {
  redisUrl: string;
  upstreamUrl: string;
  /** A folder for the settings file. */
  directory: string;
  /** Names of the upstream's models. Clients use the same names. */
  models: readonly string[];
  /** How many requests a worker runs at a time. */
  concurrency: number;
  /** Folder for CPU profiles. */
  profile: string | undefined;
  /** The built command. Default: that of this workspace. */
  command?: string;
  /** Settings in place of those below or of the defaults. */
  settings?: Record<string, unknown>;
  /** Limits of its first key. Default: none. */
  keyLimits?: Record<string, number>;
  /** How many tenants it has, of one key each. Default: 1. */
  tenants?: number;
  /** Variables of the environment of both roles. */
  env?: Record<string, string>;
}

/** Sluice as an operator runs it: built, configured by a file, and each role a process. */
export interface BenchService {
  /** Where the API listens, without a mount. */
  url: string;
  adminUrl: string;
  /** The key of its first tenant. */
  key: string;
  /** The key of each tenant. */
  keys: readonly string[];
  keyPrefix: string;
  api: Child;
  /** Starts a worker. Resolves when it takes jobs. */
  startWorker(): Promise<Child>;
  /** Stops every process. May be called twice. */
  stop(): Promise<void>;
}

/** More than any scenario has waiting. */
const mostQueued = 1_000_000;

/** Starts the api and no worker yet. All settings that are not named here keep their defaults. */
export async function startService(options: ServiceOptions): Promise<BenchService> {
  const { redisUrl, upstreamUrl, directory, models, concurrency, profile, keyLimits, tenants = 1 } = options;
  const keys = Array.from({ length: tenants }, () => `sk-bench-${randomBytes(16).toString('hex')}`);
  const [key = ''] = keys;
  const keyPrefix = `bench-${randomBytes(8).toString('hex')}:`;
  const file = join(directory, `${keyPrefix.slice(0, -1)}.yaml`);
  const settings = {
    keyPrefix,
    logLevel: 'warn',
    workerConcurrency: concurrency,
    providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: `${upstreamUrl}/v1` }],
    models: models.map((id) => ({ id, routes: [{ provider: 'upstream' }] })),
    keys: keys.map((each, at) => ({
      name: at === 0 ? 'bench' : `bench-${at}`,
      key: each,
      ...(at === 0 && keyLimits && { limits: keyLimits }),
    })),
    limits: { queued: mostQueued },
    ...options.settings,
  };
  await mkdir(directory, { recursive: true });
  await writeFile(file, JSON.stringify(settings, undefined, 2)); // YAML reads JSON
  const start = (command: 'api' | 'worker') =>
    startChild({
      name: command,
      file: options.command ?? main,
      args: [command],
      env: {
        // As the image and `sluice start` have it.
        MALLOC_ARENA_MAX: '2',
        SLUICE_CONFIG: file,
        REDIS_URL: redisUrl,
        DATA_DIR: directory,
        PORT: '0',
        ADMIN_PORT: '0',
        ...options.env,
      },
      execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(profile, command)}`],
    });
  const api = await start('api');
  const children = [api];
  return {
    url: String(api.ready['url']),
    adminUrl: String(api.ready['adminUrl']),
    key,
    keys,
    keyPrefix,
    api,
    async startWorker() {
      const worker = await start('worker');
      children.push(worker);
      return worker;
    },
    async stop() {
      await Promise.all(children.map((child) => child.stop()));
    },
  };
}

/** The processes that a response passes through, by their roles. */
export function processesOf(
  { api }: BenchService,
  worker: Pick<Child, 'pid'>,
  upstream: Pick<Child, 'pid'>,
): Map<string, Pick<Child, 'pid'>> {
  return new Map([
    ['api', api],
    ['worker', worker],
    ['upstream', upstream],
  ]);
}
