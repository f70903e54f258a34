import { type ModelSettings, type ProviderSettings, serversOf, type StoredProvider } from '@sluice/config';
import type { ProviderRow } from '@sluice/contract/admin';

/** The providers in effect in this process, and where each comes from. */
export interface ProvidersInEffect {
  models: readonly ModelSettings[];
  providers: readonly ProviderSettings[];
  /** The members of a stored provider in effect; undefined for one of the file. */
  storedProvider: (id: string) => StoredProvider | undefined;
  /** Stored providers that are not in effect. */
  unusableProviders: readonly { id: string; problem: string }[];
}

/** Describes every provider in effect, without its secrets. */
export function providerRows(inEffect: ProvidersInEffect): ProviderRow[] {
  const models = new Map<string, number>();
  for (const { routes } of inEffect.models) {
    for (const id of new Set(routes.map(({ provider }) => provider))) {
      models.set(id, (models.get(id) ?? 0) + 1);
    }
  }
  return inEffect.providers.map((provider): ProviderRow => {
    const { id, type } = provider;
    const stored = inEffect.storedProvider(id);
    const isUpstream = 'baseUrl' in provider;
    return {
      id,
      origin: stored ? 'stored' : 'file',
      type,
      servers: isUpstream ? serversOf(provider).map(({ settings }) => settings.baseUrl) : [],
      key_variable: isUpstream ? (provider.apiKeyVariable ?? null) : null,
      discover: isUpstream && provider.discover,
      models: models.get(id) ?? 0,
      settings: stored ? { ...stored } : null,
    };
  });
}
