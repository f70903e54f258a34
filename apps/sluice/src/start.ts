import { developmentActionToken, loadSettings, type Settings } from '@sluice/config';
import { type RunningStore, startStore } from '@sluice/embedded-store';
import {
  closeRedis,
  commandClient,
  createLogger,
  FatalError,
  parseRedisCells,
  requireRedis,
  runProcess,
} from '@sluice/runtime';
import type { Logger } from '@sluice/runtime';
import { developmentKey } from '@sluice/tenants';
import { banner, reachable } from './banner.ts';
import { ChildProcesses } from './child-processes.ts';
import { discover } from './discovery/discover.ts';
import { noteRunningService, type RunningServiceNote } from './running-service.ts';

/** Time for a stop besides the drains of api and workers, which follow each other: the store saves last. */
const stopSlackMs = 20_000;

/** Runs the whole service in one terminal. The store, the api and each worker are processes of their own. */
export async function start(argv: readonly string[]): Promise<void> {
  const sources = { env: process.env, argv, cwd: process.cwd(), role: 'start' } as const;
  const settings = loadSettings(sources);
  const logger = createLogger({ name: 'start', level: settings.logLevel });
  let store: RunningStore | undefined;
  let children: ChildProcesses | undefined;
  let note: RunningServiceNote | undefined;
  await runProcess({
    logger,
    drainTimeoutMs: settings.drainTimeoutMs * 2 + stopSlackMs,
    start: async (signal, requestStop) => {
      // Looked up once for all processes: an api and its workers have to agree on the models.
      const discovered = await discover(settings, { sources, signal, logger });
      store = await startStore({
        dataDir: settings.dataDir,
        redisUrl: settings.redisUrl,
        path: process.env.PATH,
      });
      // A store takes its time, and a stop may have been asked for meanwhile.
      signal.throwIfAborted();
      if (store.kind === 'external') await tryCells(store.url, logger, signal);
      const actionToken = await developmentActionToken(settings);
      children = new ChildProcesses({
        argv: flagsForRoles(argv),
        env: { ...process.env, ...discovered.env, REDIS_URL: store.url },
        stopWithinMs: settings.drainTimeoutMs + 5_000,
        onGivenUp: requestStop,
      });
      void store.exited.then(() => {
        if (!signal.aborted) requestStop(new FatalError('The store ended. Its last lines above say why.'));
      });
      const starts = Promise.all([
        children.startApi(actionToken === undefined ? {} : { ADMIN_ACTION_TOKEN: actionToken }),
        children.startWorkers(settings.workers, settings.workerHealthPort),
      ]);
      // They may wait for a store for as long as that is away, and then a stop must not wait for them.
      const [{ url, adminUrl, acceptsDevelopmentKey }] = await Promise.race([starts, abortOf(signal)]);
      const { file: settingsFile } = discovered.settings;
      note = noteRunningService(settings.dataDir, {
        store: store.url,
        url: reachable(url),
        adminUrl: reachable(adminUrl),
        ...(settingsFile !== undefined && { settingsFile }),
      });
      const plainKey = acceptsDevelopmentKey ? (await developmentKey(settings.dataDir)).plain : undefined;
      signal.throwIfAborted();
      console.log(
        banner({
          url,
          adminUrl,
          store,
          models: modelIds(discovered.settings),
          found: discovered.lines,
          plainKey,
          actionToken,
          workers: settings.workers,
        }),
      );
    },
    stop: async () => {
      await children?.stop();
      note?.remove();
      await store?.stop();
    },
    reload: () => children?.reload(),
    onForcedExit: () => {
      note?.remove();
      children?.kill();
    },
  });
}

/** The flags for the other roles, without those that only `start` has and those that it sets itself. */
function flagsForRoles(argv: readonly string[]): string[] {
  const own = ['--workers', '--redis-url', '--worker-health-port', '--discover'];
  return argv.filter((argument, at) => {
    const [flag = ''] = argument.split('=', 1);
    if (own.includes(flag)) return false;
    const before = argv[at - 1];
    return before === undefined || !own.includes(before);
  });
}

function modelIds({ models }: Settings): string[] {
  return models.map(({ id }) => id);
}

/** Rejects when a signal aborts. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error); // the reason of `runProcess`
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }); // the reason of `runProcess`
  });
}

/**
 * Says within seconds what is wrong with the first address in REDIS_URL, to a person who has just typed it, unless another cell is there. The
 * processes would wait for a Redis that comes later.
 */
async function tryCells(urls: string, logger: Logger, signal: AbortSignal): Promise<void> {
  const tries = parseRedisCells(urls).map(({ url }) => tryRedis(url, logger, signal));
  for (const each of tries) each.catch(() => undefined); // The first is awaited below.
  await Promise.any(tries).catch(() => tries[0]);
}

async function tryRedis(url: string, logger: Logger, signal: AbortSignal): Promise<void> {
  const client = commandClient(url, { logger });
  try {
    await requireRedis(client, { url, logger, signal });
  } finally {
    await closeRedis(client);
  }
}
