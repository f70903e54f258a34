import { checkModel, type ModelSettings } from '@sluice/config';
import {
  activeOf,
  type ModelsAndProviders,
  type StoredSettings,
  type UnusableEntry,
} from './stored-settings.ts';
import { firstProblem } from './stored-providers.ts';

/**
 * The stored models that can be offered beside those of the file, in the order of their ids, and why the others cannot. The file wins over
 * a stored model with its id, and a change of the file may take a provider away or contradict a stored model: that one is not offered then.
 *
 * @param file its models, and the providers that are in effect.
 */
export function usableModels(
  stored: StoredSettings['models'],
  file: ModelsAndProviders,
): { models: ModelSettings[]; unusable: UnusableEntry[] } {
  const ofFile = new Set(file.models.map(({ id }) => id));
  const models: ModelSettings[] = [];
  // The first model of a queue says its concurrency. It is looked up, because there may be thousands of models.
  const firstOf = new Map<string, ModelSettings>();
  for (const each of file.models) if (!firstOf.has(each.queue)) firstOf.set(each.queue, each);
  const unusable: UnusableEntry[] = [];
  for (const [id, model] of activeOf(stored)) {
    if (ofFile.has(id)) {
      unusable.push({ id, problem: 'the settings file names a model of this id, which wins' });
      continue;
    }
    const { concurrency: _, ...rest } = model;
    const first = firstOf.get(model.queue);
    const checked = checkModel(first ? rest : model, {
      others: first ? [first] : [],
      providers: file.providers,
    });
    if ('problems' in checked) {
      unusable.push({ id, problem: firstProblem(checked) });
      continue;
    }
    models.push(checked);
    if (!first) firstOf.set(checked.queue, checked);
  }
  return { models, unusable };
}

/**
 * Models whose removal a process has not seen, because it began behind that, or because they were added and removed again between two
 * looks. One that it has known as not removed is not among them.
 */
export function newlyRemoved(
  stored: StoredSettings['models'],
  before: StoredSettings['models'],
): ModelSettings[] {
  return [...stored.values()]
    .filter(({ value: { id }, removedAt }) => {
      const known = before.get(id);
      const hasSeen = known !== undefined && (known.removedAt === undefined || known.removedAt === removedAt);
      return removedAt !== undefined && !hasSeen;
    })
    .map(({ value }) => value);
}
