import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child-process.ts';

/** The command, as `bundleCommand` makes it. */
const main = fileURLToPath(new URL('../../../apps/sluice/dist/main.js', import.meta.url));

/** A tenant as the settings file has it, but for its key. */
export interface BenchTenant {
  name: string;
  weight?: number;
  tiers?: readonly ('default' | 'flex' | 'priority')[];
  limits?: { requestsPerMinute?: number; tokensPerMinute?: number };
}

export interface ServiceOptions {
  redisUrl: string;
  upstreamUrl: string;
  /** More settings of the provider. */
  provider?: object;
  /** A folder for the settings file. */
  directory: string;
  /** Names of the upstream's models. Clients use the same names. */
  models: readonly string[];
  /** How many requests a worker runs at a time. */
  concurrency: number;
  /** How many requests of a model run at a time over all workers. Absent: as many as the workers run. */
  modelConcurrency?: number;
  /** Absent: one without limits. */
  tenants?: readonly BenchTenant[];
  /** Settings of the console. Absent: the defaults. */
  console?: { journal: boolean };
  /** More variables of each process. */
  env?: Record<string, string>;
  /** Absent: one. */
  apis?: number;
  /** Folder for CPU profiles. */
  profile: string | undefined;
}

/** Sluice as an operator runs it: built, configured by a file, and each role a process. */
export interface BenchService {
  /** Where the API listens, without a mount. */
  url: string;
  /** Where each api process listens. */
  urls: readonly string[];
  adminUrl: string;
  /** The key of the first tenant. */
  key: string;
  /** Throws for a tenant that there is not. */
  keyOf: (tenant: string) => string;
  keyPrefix: string;
  api: Child;
  apis: readonly Child[];
  /** Starts a worker. Resolves when it takes jobs. */
  startWorker(): Promise<Child>;
  /** Stops every process. May be called twice. */
  stop(): Promise<void>;
}

/** More than any scenario has waiting. */
const mostQueued = 1_000_000;

/** Reads are how a scenario looks at the result, so no limit may stand in their way. */
const readsPerMinute = 1_000_000_000;

/** Starts the api processes and no worker yet. All settings that are not named here keep their defaults. */
export async function startService(options: ServiceOptions): Promise<BenchService> {
  const { redisUrl, directory, profile, tenants = [{ name: 'bench' }], apis: apiCount = 1 } = options;
  const keys = new Map(tenants.map(({ name }) => [name, `sk-bench-${randomBytes(16).toString('hex')}`]));
  const keyOf = (tenant: string) => {
    const key = keys.get(tenant);
    if (key === undefined) throw new RangeError(`the service has no tenant '${tenant}'`);
    return key;
  };
  const keyPrefix = `bench-${randomBytes(8).toString('hex')}:`;
  const file = join(directory, `${keyPrefix.slice(0, -1)}.yaml`);
  const settings = settingsOf(options, { keyPrefix, tenants, keyOf });
  await mkdir(directory, { recursive: true });
  await writeFile(file, JSON.stringify(settings, undefined, 2)); // YAML reads JSON
  const start = (command: 'api' | 'worker') =>
    startChild({
      name: command,
      file: main,
      args: [command],
      env: {
        ...options.env,
        SLUICE_CONFIG: file,
        REDIS_URL: redisUrl,
        DATA_DIR: directory,
        PORT: '0',
        ADMIN_PORT: '0',
      },
      execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(profile, command)}`],
    });
  const apis: Child[] = [];
  const children: Child[] = [];
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop()));
  };
  try {
    for (let number = 0; number < apiCount; number += 1) apis.push(await start('api'));
  } finally {
    children.push(...apis);
    if (apis.length < apiCount) await stop();
  }
  const [api] = apis;
  const [firstKey] = keys.values();
  if (!api || firstKey === undefined) throw new RangeError('a service needs an api process and a tenant');
  return {
    url: String(api.ready['url']),
    urls: apis.map(({ ready }) => String(ready['url'])),
    adminUrl: String(api.ready['adminUrl']),
    key: firstKey,
    keyOf,
    keyPrefix,
    api,
    apis,
    async startWorker() {
      const worker = await start('worker');
      children.push(worker);
      return worker;
    },
    stop,
  };
}

function settingsOf(
  { models, concurrency, modelConcurrency, provider, upstreamUrl, console: adminConsole }: ServiceOptions,
  {
    keyPrefix,
    tenants,
    keyOf,
  }: {
    keyPrefix: string;
    tenants: NonNullable<ServiceOptions['tenants']>;
    keyOf: (tenant: string) => string;
  },
) {
  return {
    keyPrefix,
    logLevel: 'warn',
    workerConcurrency: concurrency,
    providers: [{ id: 'upstream', type: 'openai-chat', baseUrl: `${upstreamUrl}/v1`, ...provider }],
    models: models.map((id) => ({ id, routes: [{ provider: 'upstream' }], concurrency: modelConcurrency })),
    keys: tenants.map((tenant) => ({
      ...tenant,
      key: keyOf(tenant.name),
      limits: { ...tenant.limits, readsPerMinute },
    })),
    limits: { queued: mostQueued },
    ...(adminConsole && { console: adminConsole }),
  };
}
