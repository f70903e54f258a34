import { checkProvider, type ProviderSettings, type UpstreamKeys } from '@sluice/config';
import { activeOf, type StoredSettings, type UnusableEntry } from './stored-settings.ts';

/**
 * The stored providers that are in effect beside those of the file, in the order of their ids, and why the others are not. The file wins
 * over a stored provider with its id.
 *
 * @param keys the keys of this process that they may name.
 */
export function usableProviders(
  stored: StoredSettings['providers'],
  file: { providers: readonly ProviderSettings[] },
  keys: UpstreamKeys = {},
): { providers: ProviderSettings[]; unusable: UnusableEntry[] } {
  const ofFile = new Set(file.providers.map(({ id }) => id));
  const providers: ProviderSettings[] = [];
  const unusable: UnusableEntry[] = [];
  for (const [id, members] of activeOf(stored)) {
    if (ofFile.has(id)) {
      unusable.push({ id, problem: 'the settings file names a provider of this id, which wins' });
      continue;
    }
    const checked = checkProvider(members, keys);
    if ('problems' in checked) unusable.push({ id, problem: firstProblem(checked) });
    else providers.push(checked.settings);
  }
  return { providers, unusable };
}

/** The removed providers, which models that were removed before them may still need. */
export function removedProviders(
  stored: StoredSettings['providers'],
  keys: UpstreamKeys = {},
): ProviderSettings[] {
  return [...stored.values()].flatMap(({ value, removedAt }) => {
    const checked = removedAt === undefined ? undefined : checkProvider(value, keys);
    return checked && 'settings' in checked ? [checked.settings] : [];
  });
}

/** The first of some problems, as a sentence without an end. */
export function firstProblem({
  problems: [first],
}: {
  problems: readonly { path: PropertyKey[]; message: string }[];
}): string {
  return `${first?.path.join('.') ?? ''} ${first?.message ?? 'is not valid'}`.trim();
}
