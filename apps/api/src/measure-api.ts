import type { Settings } from '@sluice/config';
import { failureCodes } from '@sluice/contract';
import type { JournalWriter } from '@sluice/journal';
import { readQueues } from '@sluice/operator';
import type { Limits, ResponseQueues } from '@sluice/queue';
import type { CallerStores } from '@sluice/response-store';
import { countEnds, measureStore, type RedisWatch, type Telemetry } from '@sluice/runtime';
import type { LiveSettings } from '@sluice/tenants';
import type { Registry } from 'prom-client';
import { type ApiCounts, countApi } from './api-metrics.ts';
import type { CellMemories } from './cell-memories.ts';
import { measureQueues } from './queue-metrics.ts';

export interface ApiToMeasure extends Omit<ApiCounts, 'models'> {
  /** Their models are read at each use. */
  settings: Pick<Settings, 'models'>;
  queueLimits: () => Limits;
  live: Pick<LiveSettings, 'limits'>;
  queue: ResponseQueues;
  store: Pick<CallerStores, 'acceptedAt' | 'tenantUse'>;
  redis: Pick<RedisWatch, 'isWell' | 'problems'>;
  memories: Pick<CellMemories, 'byCell'>;
  /** Undefined when none is kept. */
  journal: Pick<JournalWriter, 'dropped'> | undefined;
  /** The store's clock, in milliseconds. */
  now: () => number;
}

/** All that `/metrics` of an api says beside what is true of any process. */
export function measureApi(
  telemetry: Telemetry,
  registry: Registry,
  { settings, queueLimits, live, queue, store, redis, memories, journal, now, ...counts }: ApiToMeasure,
): void {
  const models = () => settings.models.map(({ id }) => id);
  countApi(telemetry, registry, { models, ...counts });
  countEnds(telemetry, registry, { models, codes: failureCodes });
  measureQueues(registry, {
    queue,
    read: () => readQueues({ queue, store, now }),
    limits: () =>
      new Map(
        [...queueLimits()].flatMap(([name, concurrency]) =>
          concurrency === undefined ? [] : [[decodeURIComponent(name), concurrency]],
        ),
      ),
  });
  measureStore(registry, {
    redis,
    memory: { cells: () => memories.byCell, refusesAtPercent: () => live.limits.redisMemoryPercent },
    journalDropped: () => journal?.dropped,
  });
}
