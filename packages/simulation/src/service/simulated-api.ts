import { type ApiParts, asServiceError, makeApiParts } from '@sluice/api';
import type { Settings } from '@sluice/config';
import { ServiceError } from '@sluice/contract';
import { ProcessLease } from '@sluice/response-store';
import { commandClient, untilRedisTakes } from '@sluice/runtime';
import type { SimulatedProcess } from '../world/simulated-process.ts';
import { drainMs } from './service-settings.ts';
import { processLogger } from './simulated-worker.ts';

export interface ApiRole {
  process: SimulatedProcess;
  /** Undefined until it takes requests. */
  parts: ApiParts | undefined;
  isStopping: boolean;
  /** What a caller is told of a failure; undefined for a defect. */
  asServiceError: typeof asServiceError;
  /** Finishes what is under way, and ends what takes too long, as SIGTERM has it do. */
  stop: () => Promise<void>;
}

/**
 * Starts an api in its process, as `ApiProcess` does, without its two listeners: requests come to its parts directly. Its
 * lease is kept by its own event loop, over a connection of its own, because there are no threads.
 */
export function startApi(process: SimulatedProcess, settings: Settings & { redisUrl: string }): ApiRole {
  const role: ApiRole = {
    process,
    parts: undefined,
    isStopping: false,
    asServiceError,
    stop: () => stop(role),
  };
  process.after(0, () => {
    start(role, settings).catch((error: unknown) => process.world.crashed(error));
  });
  return role;
}

async function start(role: ApiRole, settings: Settings & { redisUrl: string }): Promise<void> {
  const logger = processLogger(role.process);
  const parts = makeApiParts({
    settings,
    logger,
    hasStarted: () => role.parts !== undefined,
    isStopping: () => role.isStopping,
    acceptingNow: (clock) => {
      if (!role.parts) throw new ServiceError('server_is_overloaded');
      return clock.now();
    },
    replaced: {
      leaseOver: (keys, url) => {
        const commands = commandClient(url, { logger, connectionName: 'sluice-lease' });
        return new ProcessLease({ commands, keys, onError: () => undefined });
      },
    },
  });
  const { signal } = new AbortController();
  await parts.tenants.takeSettings(settings);
  for (const { clock } of parts.cells.all) await clock.start();
  const storeStarted = parts.store.start();
  storeStarted.catch(() => undefined); // It is awaited below, unless the start ends before.
  await parts.redis.start(signal);
  await storeStarted;
  for (const { clock } of parts.cells.all) if (!clock.isSynchronized) await clock.sample();
  await parts.cellWatch.start(signal);
  await parts.cellCounts.start();
  await parts.tenants.start(signal);
  await untilRedisTakes(() => parts.sealing.start(), signal);
  role.parts = parts;
  parts.memory.start();
  parts.stats.start();
  parts.operator.start();
  parts.files?.start();
  parts.batches?.start();
}

/** The part of the time to drain after which a request that is under way is ended, as in `ApiProcess`. */
const interruptShare = 0.8;

async function stop({ parts }: ApiRole): Promise<void> {
  if (!parts) return;
  parts.stats.announce();
  const batches = parts.batches?.stop();
  await parts.open.drain(drainMs * interruptShare);
  await batches;
  await parts.tenants.stop();
  await parts.sealing.stop();
  parts.redis.stop();
  await parts.responses.stop();
  await parts.store.stop();
  parts.files?.stop();
}
