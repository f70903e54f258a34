import { queueName, type QueueDepth } from '@sluice/queue';
import type { QueueOverview } from '@sluice/contract/admin';
import type { HeardProcess } from './process-report.ts';
import type { ReportSources } from './report-sources.ts';

/** Queues that are read at once. Other commands of this process wait that long. */
const pageSize = 50;

/** The depth of a queue, and how long its oldest response had waited when it was read, by the store's clock. */
export interface ReadQueue {
  queue: string;
  depth: QueueDepth;
  oldestWaitMs: number | undefined;
  /** The same for responses that a worker could take. */
  oldestReadyWaitMs: number | undefined;
}

/** Reads each queue that is served: those of the settings in their order, and behind them those that models have left. */
export async function readQueues({
  queue,
  store,
  now,
}: Pick<ReportSources, 'queue' | 'store' | 'now'>): Promise<ReadQueue[]> {
  const { names } = queue;
  const read: ReadQueue[] = [];
  for (let first = 0; first < names.length; first += pageSize) {
    const page = names.slice(first, first + pageSize);
    const depths = await Promise.all(page.map((name) => queue.depth(name)));
    const jobs = depths.flatMap(({ oldest, oldestReady }) => [oldest ?? [], oldestReady ?? []].flat());
    const at = now();
    const acceptedAt = await store.acceptedAt(jobs.map(({ responseId }) => responseId));
    const waitOf = (job: QueueDepth['oldest']) =>
      job && Math.max(0, at - (acceptedAt[jobs.indexOf(job)] ?? job.addedAt));
    for (const [each, depth] of depths.entries()) {
      read.push({
        queue: decodeURIComponent(page[each] ?? ''),
        depth,
        oldestWaitMs: waitOf(depth.oldest),
        oldestReadyWaitMs: waitOf(depth.oldestReady),
      });
    }
  }
  return read;
}

/** The rows of queues, with the slots that the workers have for each, as far as workers tell of themselves. */
export function queueRows(
  read: readonly ReadQueue[],
  processes: readonly HeardProcess[],
  { settings, models: live }: Pick<ReportSources, 'settings' | 'models'>,
): QueueOverview[] {
  const slots = slotsOf(processes);
  const limits = live.queueLimits;
  const models = Map.groupBy(settings.models, (model) => model.queue);
  return read.map(({ queue, depth, oldestWaitMs }) => {
    const ofQueue = models.get(queue) ?? [];
    return {
      queue,
      models: ofQueue.map(({ id }) => id),
      paused: depth.isPaused,
      waiting: depth.waiting,
      active: depth.active,
      oldest_wait_ms: oldestWaitMs ?? null,
      concurrency: limits.get(queueName(queue)) ?? null,
      slots: settings.console.statistics ? (slots.get(queue) ?? 0) : null,
    };
  });
}

/** Slots by queue over all workers that take jobs. */
export function slotsOf(processes: readonly HeardProcess[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { said } of processes) {
    if (said.role !== 'worker' || said.stopping) continue;
    for (const { queue, slots } of said.slots) sums.set(queue, (sums.get(queue) ?? 0) + slots);
  }
  return sums;
}
