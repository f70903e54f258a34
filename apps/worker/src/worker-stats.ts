import type { Settings } from '@sluice/config';
import { type QueueConsumer, queueName } from '@sluice/queue';
import type { Logger } from '@sluice/runtime';
import { type ProcessStats, statsOf } from '@sluice/service-stats';
import type { WorkerClients, Wired } from '@sluice/wiring';
import type { AttemptRunner } from './attempt-runner.ts';
import { WorkerReport } from './worker-report.ts';

export interface WorkerStatsOptions {
  /** Their models are read at each use. */
  settings: Settings;
  wired: Pick<Wired<WorkerClients, unknown>, 'clients' | 'keyPrefix' | 'clock' | 'telemetry' | 'queue'>;
  runner: Pick<AttemptRunner, 'running' | 'health'>;
  worker: Pick<QueueConsumer, 'inHand'>;
  isStopping: () => boolean;
  logger: Logger;
}

/** Reports a worker to the console. */
export function workerStats({
  settings,
  wired: { clients, keyPrefix, clock, telemetry, queue: queues },
  runner: { running, health },
  worker,
  isStopping,
  logger,
}: WorkerStatsOptions): ProcessStats {
  const report = new WorkerReport({
    telemetry,
    queues: () => queues.names.map(decodeURIComponent),
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
    keyPrefix,
    telemetry,
    hasModel: (id) => settings.models.some((model) => model.id === id),
    clock,
    report: () => report.now(),
    will: () => report.ifLost(),
    logger,
  });
}
