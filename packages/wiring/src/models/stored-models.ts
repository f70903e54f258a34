import { checkModel, type ModelSettings, type ProviderSettings, type Settings } from '@sluice/config';
import type { EntriesSnapshot } from '@sluice/runtime';

/** A model that an operator has stored in Redis. Times are milliseconds of the store's clock. */
export interface StoredModel {
  model: ModelSettings;
  changedAt: number;
  /** When it was removed; what waits for it is served for a while after that. */
  removedAt?: number;
}

/** A stored model that is not offered, and why. */
export interface UnusableModel {
  id: string;
  problem: string;
}

/** Every stored model, by its id; a text that no release of this service has written is left out. */
export function parseStoredModels({ entries }: Pick<EntriesSnapshot, 'entries'>): Map<string, StoredModel> {
  const found = new Map<string, StoredModel>();
  for (const [id, text] of entries) {
    const stored = parse(text);
    if (stored?.model.id === id) found.set(id, stored);
  }
  return found;
}

function parse(text: string): StoredModel | undefined {
  try {
    const stored = JSON.parse(text) as Partial<StoredModel>;
    const isWhole = typeof stored.model === 'object' && typeof stored.changedAt === 'number';
    return isWhole ? (stored as StoredModel) : undefined; // `model` is checked before it is offered
  } catch {
    return undefined;
  }
}

/**
 * The stored models that can be offered beside those of the file, in the order of their ids, and why the others cannot. The file wins over
 * a stored model with its id, and a change of the file may take a provider away or contradict a stored model: that one is not offered then.
 */
export function usableModels(
  stored: ReadonlyMap<string, StoredModel>,
  file: { models: readonly ModelSettings[]; providers: readonly ProviderSettings[] },
): { models: ModelSettings[]; unusable: UnusableModel[] } {
  const ofFile = new Set(file.models.map(({ id }) => id));
  const models: ModelSettings[] = [];
  const unusable: UnusableModel[] = [];
  const ids = [...stored.keys()].toSorted();
  for (const id of ids) {
    const entry = stored.get(id);
    if (!entry || entry.removedAt !== undefined) continue;
    if (ofFile.has(id)) {
      unusable.push({ id, problem: 'the settings file names a model of this id, which wins' });
      continue;
    }
    const { concurrency: _, ...rest } = entry.model;
    const others = [...file.models, ...models];
    // Whoever came first says the concurrency of a queue.
    const wanted = others.some(({ queue }) => queue === entry.model.queue) ? rest : entry.model;
    const checked = checkModel(wanted, { others, providers: file.providers });
    if ('problems' in checked) {
      const [problem] = checked.problems;
      unusable.push({
        id,
        problem: `${problem?.path.join('.') ?? ''} ${problem?.message ?? 'is not valid'}`.trim(),
      });
    } else models.push(checked);
  }
  return { models, unusable };
}

/**
 * Models whose removal a process has not seen, because it began behind that, or because they were added and removed again between two
 * looks. One that it has known as not removed is not among them.
 */
export function newlyRemoved(
  stored: ReadonlyMap<string, StoredModel>,
  before: ReadonlyMap<string, StoredModel>,
): ModelSettings[] {
  return [...stored.values()]
    .filter(({ model: { id }, removedAt }) => {
      const known = before.get(id);
      const hasSeen = known !== undefined && (known.removedAt === undefined || known.removedAt === removedAt);
      return removedAt !== undefined && !hasSeen;
    })
    .map(({ model }) => model);
}

/** How long a removed model and its queue are served at least, in milliseconds. */
export const defaultKeepMs = 300_000;

/** Whatever was accepted for a model has ended this long after its removal, in milliseconds. */
export function acceptedForMs(
  { queueMs, backgroundQueueMs, totalMs }: AcceptedTimeouts,
  keepMs = defaultKeepMs,
): number {
  return keepMs + Math.max(queueMs, backgroundQueueMs) + totalMs;
}

export type AcceptedTimeouts = Pick<Settings['timeouts'], 'queueMs' | 'backgroundQueueMs' | 'totalMs'>;
