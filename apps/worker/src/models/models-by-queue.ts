import type { Settings } from '@sluice/config';
import { queueName } from '@sluice/queue';

/** The models of each queue, and the queues of each provider. Queues have their encoded names. */
export interface ModelsByQueue {
  /** The ids of the models of each queue. */
  models: ReadonlyMap<string, readonly string[]>;
  /** The queues of the models that a provider has, by its id. */
  queues: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Groups models by their queue and their providers. There may be thousands, so this is done once for each change of them. */
export function modelsByQueue(settings: Pick<Settings, 'models'>): ModelsByQueue {
  const models = new Map<string, string[]>();
  const queues = new Map<string, Set<string>>();
  for (const { id, queue, routes } of settings.models) {
    const name = queueName(queue);
    const ofQueue = models.get(name) ?? [];
    ofQueue.push(id);
    models.set(name, ofQueue);
    for (const { provider } of routes) queues.set(provider, (queues.get(provider) ?? new Set()).add(name));
  }
  return { models, queues };
}

/**
 * How long none of these models takes calls, in milliseconds; 0 when one does, or when there is none. No model is asked behind one that
 * does.
 *
 * @param blockedMsOf how long a model takes none, in milliseconds.
 */
export function allBlockedMs(models: Iterable<string>, blockedMsOf: (model: string) => number): number {
  let leastMs = Number.POSITIVE_INFINITY;
  for (const model of models) {
    leastMs = Math.min(leastMs, blockedMsOf(model));
    if (leastMs <= 0) return 0;
  }
  return Number.isFinite(leastMs) ? leastMs : 0;
}
