import type { Settings } from '@sluice/config';
import { heardProcesses, slotsOf } from '@sluice/operator';
import { readProcesses, type RegistryOptions } from '@sluice/service-stats';

export interface QueueCapacityOptions extends RegistryOptions {
  settings: Pick<Settings, 'models' | 'workerConcurrency'>;
  /** The store's clock, in milliseconds. */
  now: () => number;
}

/** For how long the slots of the workers are taken for known, in milliseconds: they change when a worker comes or goes. */
const knownMs = 5_000;

/**
 * How many responses of a queue can run at a time: as many as the workers have slots, and no more than the `concurrency` of its models. Where no worker
 * tells of itself they are taken for one.
 */
export function queueCapacity(options: QueueCapacityOptions): (queue: string) => Promise<number> {
  let read: { at: number; slots: Promise<Map<string, number>> } | undefined;
  return async (queue) => {
    const { settings, now } = options;
    const at = performance.now();
    if (!read || at - read.at > knownMs)
      read = { at, slots: readProcesses(options, now()).then((heard) => slotsOf(heardProcesses(heard))) };
    const slots = (await read.slots).get(queue) ?? settings.workerConcurrency;
    const concurrency = settings.models.find((model) => model.queue === queue)?.concurrency;
    return Math.min(slots, concurrency ?? slots);
  };
}
