import type { Settings } from '@sluice/config';
import { type QueueConsumer, queueName } from '@sluice/queue';
import { defaultCell } from '@sluice/response-store';
import type { Logger, Telemetry } from '@sluice/runtime';
import { type ProcessStats, statsOf } from '@sluice/service-stats';
import type { AttemptRunner } from './attempt-runner.ts';
import { WorkerReport } from './worker-report.ts';

export interface WorkerStatsOptions {
  settings: Settings;
  runner: AttemptRunner;
  worker: Pick<QueueConsumer, 'inHand'>;
  telemetry: Telemetry;
  isStopping: () => boolean;
  logger: Logger;
}

/** The part of a worker in what the console shows of the service. */
export function workerStats({
  settings,
  runner: { clients, store, clock, running, health },
  worker,
  telemetry,
  isStopping,
  logger,
}: WorkerStatsOptions): ProcessStats {
  const report = new WorkerReport({
    telemetry,
    queues: [...new Set(settings.models.map(({ queue }) => queue))],
    slots: settings.workerConcurrency,
    inHand: (queue) => worker.inHand(queueName(queue)),
    running: () => running.size,
    upstreams: () => health.status(),
    isStopping,
    now: () => clock.now(),
  });
  return statsOf({
    isOn: settings.console.statistics,
    connection: clients.commands,
    keyPrefix: store.keys.inCell(defaultCell).prefix,
    telemetry,
    models: settings.models.map(({ id }) => id),
    clock,
    report: () => report.now(),
    will: () => report.ifLost(),
    logger,
  });
}
