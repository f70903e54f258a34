import type { Settings } from '@sluice/config';
import { failureCodes } from '@sluice/contract';
import type { JournalWriter } from '@sluice/journal';
import type { QueueConsumer, ResponseQueue } from '@sluice/queue';
import { countEnds, measureStore, type RedisWatch, type Telemetry } from '@sluice/runtime';
import type { Registry } from 'prom-client';
import type { AttemptRunner } from './attempt-runner.ts';
import { measureSlots } from './slot-metrics.ts';
import { countWorker } from './worker-metrics.ts';

export interface WorkerToMeasure {
  /** Their models are read at each use. */
  settings: Pick<Settings, 'models' | 'workerConcurrency'>;
  /** `journal`: undefined when none is kept. */
  wired: { queue: Pick<ResponseQueue, 'names'>; journal: Pick<JournalWriter, 'dropped'> | undefined };
  runner: Pick<AttemptRunner, 'running' | 'health'>;
  consumer: Pick<QueueConsumer, 'taken' | 'inHand' | 'isTaking'>;
  redis: Pick<RedisWatch, 'isWell' | 'problems'>;
}

/** Adds the metrics of a worker to those that every process has. */
export function measureWorker(
  telemetry: Telemetry,
  registry: Registry,
  { settings, wired: { queue, journal }, runner, consumer, redis }: WorkerToMeasure,
): void {
  countWorker(telemetry, registry, {
    running: () => runner.running.size,
    upstreams: () => runner.health.status(),
  });
  countEnds(telemetry, registry, {
    models: () => settings.models.map(({ id }) => id),
    codes: failureCodes,
  });
  measureSlots(registry, {
    names: () => queue.names,
    consumer,
    slots: settings.workerConcurrency,
  });
  measureStore(registry, { redis, journalDropped: () => journal?.dropped });
}
