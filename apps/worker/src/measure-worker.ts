import type { Settings } from '@sluice/config';
import { failureCodes } from '@sluice/contract';
import type { JournalWriter } from '@sluice/journal';
import { type QueueConsumer, queueName } from '@sluice/queue';
import { countEnds, measureStore, type RedisWatch, type Telemetry } from '@sluice/runtime';
import type { Registry } from 'prom-client';
import type { AttemptRunner } from './attempt-runner.ts';
import { measureSlots } from './slot-metrics.ts';
import { countWorker } from './worker-metrics.ts';

export interface WorkerToMeasure {
  /** Their models are read at each use. */
  settings: Pick<Settings, 'models' | 'workerConcurrency'>;
  runner: Pick<AttemptRunner, 'running' | 'health'>;
  consumer: Pick<QueueConsumer, 'taken' | 'inHand' | 'isTaking'>;
  redis: Pick<RedisWatch, 'isWell' | 'problems'>;
  /** Undefined when none is kept. */
  journal: Pick<JournalWriter, 'dropped'> | undefined;
}

/** Adds the metrics of a worker to those that every process has. */
export function measureWorker(
  telemetry: Telemetry,
  registry: Registry,
  { settings, runner, consumer, redis, journal }: WorkerToMeasure,
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
    names: () => [...new Set(settings.models.map(({ queue }) => queueName(queue)))],
    consumer,
    slots: settings.workerConcurrency,
  });
  measureStore(registry, { redis, journalDropped: () => journal?.dropped });
}
