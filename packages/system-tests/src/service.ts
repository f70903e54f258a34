import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests, type TestRedis, testRedis } from '@sluice/testing';
import { type Caller, callerOf } from './caller.ts';
import { runCommand, type SluiceProcess, type SluiceProcessOptions, startProcess } from './sluice-process.ts';

/** The settings file as an object. It is written as JSON, which YAML can read. */
export type SettingsFile = Record<string, unknown>;

export interface ServiceOptions {
  apis?: number;
  workers?: number;
  /** Overrides the settings of the tests, which have one key, the simulator's models, and the log level `info`. */
  settings?: SettingsFile;
  /** Default: the Redis of the run. */
  redisUrl?: string;
  /** Where the processes find it, when a proxy stands between. Default: where it is. */
  redisUrlOfProcesses?: string;
  /** The root of another build of the workspace, for every process that is given none of its own. */
  root?: string;
  /** Variables of every process besides those that tell it where everything is. */
  env?: Record<string, string>;
}

export interface RunningApi extends SluiceProcess {
  url: string;
  adminUrl: string;
}

export interface RunningWorker extends SluiceProcess {
  /** Where it answers `/readyz` and `/metrics`. */
  healthUrl: string;
}

/** Apis and workers of the built service with one Redis and a key prefix of their own. */
export interface Service {
  apis: RunningApi[];
  workers: RunningWorker[];
  /** Addresses without a mount: `http://127.0.0.1:<port>`. */
  apiUrls: string[];
  adminUrls: string[];
  /** A key that may use every model. */
  key: string;
  /** A caller of the first api, with that key. */
  caller: Caller;
  /** The settings file of all processes, which are told by nothing else that it changes. */
  file: string;
  /** The Redis of the service. All its keys begin with the prefix. */
  redis: TestRedis;
  /** Adds an api, on a free port or on the port of an api that has ended; of another build if its root is given. */
  addApi: (port?: number, root?: string) => Promise<RunningApi>;
  /** Adds a worker, of another build if its root is given. */
  addWorker: (root?: string) => Promise<RunningWorker>;
  /** Tells the processes that are added from now on another `REDIS_URL`. */
  setAddresses: (redisUrl: string) => void;
  /** Runs a command of `sluice` to its end, with the settings file of the service. */
  run: (command: SluiceProcessOptions['command'], ...args: string[]) => ReturnType<typeof runCommand>;
  /** The variables of a process that is added now. */
  env: Readonly<Record<string, string>>;
  /** Stops every process. Rejects if one did not end with exit code 0. May be called twice. */
  stop: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** The cells of a service, by their names: as many as the variable `SLUICE_TEST_CELLS` has letters, so that the same tests can run over several. */
const testCells = Array.from(process.env['SLUICE_TEST_CELLS'] ?? '0');

/** The address of a Redis as that of each cell, unless it names its cells or is a node of the cluster of the run; see `redis-for-the-run.ts`. */
function addressesOf(url: string): string {
  if (/[?&]cells?=/.test(url)) return url;
  if (process.env['SLUICE_TEST_STORE'] === 'cluster') return `${url}?cluster&cells=3`;
  return testCells.map((cell) => `${url}?cell=${cell}`).join(' ');
}

/** What the keys of a response begin with. */
export function prefixOf({ prefix }: Pick<TestRedis, 'prefix'>, responseId: string): string {
  return `${prefix}:{${responseId[responseId.indexOf('_') + 1]}}:`;
}

/** A dozen processes may start at once on a few cores. */
const startup = { timeoutMs: 60_000 };

/** Starts the processes and resolves when all are ready. A start that fails rejects with the output of the process. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { apis: apiCount = 1, workers: workerCount = 1, settings = {} } = options;
  const redis = await testRedis(options.redisUrl);
  const keyPrefix = `${redis.prefix}:`;
  const key = `sk-test-${randomBytes(16).toString('hex')}`;
  const directory = await mkdtemp(join(tmpdir(), 'sluice-system-'));
  const file = join(directory, 'sluice.yaml');
  const written = { keyPrefix, keys: [{ name: 'tester', key }], logLevel: 'info', ...settings };
  await writeFile(file, JSON.stringify(written, undefined, 2));
  const env = {
    ...options.env,
    SLUICE_CONFIG: file,
    REDIS_URL: addressesOf(options.redisUrlOfProcesses ?? redis.url),
    DATA_DIR: directory,
  };

  const apis: RunningApi[] = [];
  const workers: RunningWorker[] = [];
  const addApi = async (port = 0, root?: string): Promise<RunningApi> => {
    const started = startProcess({
      command: 'api',
      root: root ?? options.root,
      env: { ...env, PORT: String(port), ADMIN_PORT: '0' },
      cwd: directory,
    });
    const ready = await orKill(started, started.logged('api ready', startup));
    const api = { ...started, url: String(ready['url']), adminUrl: String(ready['adminUrl']) };
    apis.push(api);
    return api;
  };
  const addWorker = async (root?: string): Promise<RunningWorker> => {
    const started = startProcess({
      command: 'worker',
      root: root ?? options.root,
      env: { ...env, WORKER_HEALTH_PORT: '0' },
      cwd: directory,
    });
    const ready = await orKill(started, started.logged('worker ready', startup));
    const worker = { ...started, healthUrl: `http://127.0.0.1:${String(ready['healthPort'])}` };
    workers.push(worker);
    return worker;
  };

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    const exits = await Promise.all(
      [...apis, ...workers].map(async (process) => {
        const wasRunning = process.isRunning();
        return { wasRunning, process, exit: await process.stop() };
      }),
    );
    await redis.close();
    await rm(directory, { recursive: true, force: true });
    const unclean = exits.filter(({ wasRunning, exit }) => wasRunning && exit.code !== 0);
    if (unclean.length > 0) {
      throw new Error(`did not stop cleanly:\n${unclean.map(({ process }) => process.output()).join('\n')}`);
    }
  };
  const service: Service = {
    apis,
    workers,
    get apiUrls() {
      return apis.map(({ url }) => url);
    },
    get adminUrls() {
      return apis.map(({ adminUrl }) => adminUrl);
    },
    key,
    get caller() {
      return callerOf(apis[0]?.url ?? '', key);
    },
    file,
    redis,
    addApi,
    addWorker,
    run: (command, ...args) =>
      runCommand({ command, args, env: { SLUICE_CONFIG: file, REDIS_URL: redis.url } }),
    env,
    setAddresses: (redisUrl) => {
      env.REDIS_URL = redisUrl;
    },
    stop: () => (stopping ??= stop()),
    [Symbol.asyncDispose]: () => service.stop(),
  };
  const starts = [
    ...Array.from({ length: apiCount }, () => addApi()),
    ...Array.from({ length: workerCount }, () => addWorker()),
  ];
  const outcomes = await Promise.allSettled(starts);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) {
    await service.stop();
    throw failed.reason;
  }
  return service;
}

/** Has a service start before the tests of a file or of a `describe`, and stop after them: see `forAllTests`. */
export function testService(options: () => ServiceOptions = () => ({})): Service {
  return forAllTests(() => startService(options()));
}

async function orKill<T>(process: SluiceProcess, ready: Promise<T>): Promise<T> {
  try {
    return await ready;
  } catch (error) {
    await process.kill();
    throw error;
  }
}
