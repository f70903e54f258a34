import type { StoredProvider } from '@sluice/config';
import type { ProviderList, RemovedProvider, StoredProviderAnswer } from '@sluice/contract/admin';
import type { Asker, Audit } from '../audit/audit.ts';
import { orRefuse } from './or-refuse.ts';
import { type ProvidersInEffect, providerRows } from './provider-rows.ts';

/** Changes stored providers; rejects with a `StoredRefusal` for what makes no sense. */
export interface ProviderSteps {
  add: (wanted: Record<string, unknown>) => Promise<StoredProvider>;
  change: (id: string, members: Record<string, unknown>) => Promise<StoredProvider>;
  remove: (id: string) => Promise<StoredProvider>;
}

export interface ProviderActsOptions {
  models: ProvidersInEffect;
  providerChanges: ProviderSteps;
  audit: Pick<Audit, 'perform'>;
}

/** The providers as operators see them, and changes of stored ones, each with its entries in the audit log. */
export class ProviderActs {
  readonly #options: ProviderActsOptions;

  constructor(options: ProviderActsOptions) {
    this.#options = options;
  }

  list(): ProviderList {
    const { models } = this.#options;
    const unusable = models.unusableProviders.map(({ id, problem }) => ({ id, problem }));
    return { object: 'list', data: providerRows(models), unusable };
  }

  add(wanted: { id: string } & Record<string, unknown>, asker: Asker): Promise<StoredProviderAnswer> {
    return this.#perform('provider.add', wanted.id, asker, () => this.#options.providerChanges.add(wanted));
  }

  change(id: string, members: Record<string, unknown>, asker: Asker): Promise<StoredProviderAnswer> {
    return this.#perform('provider.change', id, asker, () =>
      this.#options.providerChanges.change(id, members),
    );
  }

  async remove(id: string, asker: Asker): Promise<RemovedProvider> {
    const { audit, providerChanges } = this.#options;
    await audit.perform(
      { action: 'provider.remove', target: id, ...asker },
      () => orRefuse(providerChanges.remove(id)),
      addressOf,
    );
    return { object: 'removed_provider', id };
  }

  async #perform(
    action: 'provider.add' | 'provider.change',
    target: string,
    asker: Asker,
    step: () => Promise<StoredProvider>,
  ): Promise<StoredProviderAnswer> {
    const settings = await this.#options.audit.perform(
      { action, target, ...asker },
      () => orRefuse(step()),
      addressOf,
    );
    return { object: 'stored_provider', id: settings.id, settings: { ...settings } };
  }
}

/** Where a provider is called, which is what the audit log must show: its key is sent there. */
function addressOf(provider: StoredProvider): string {
  if (provider.type === 'simulator') return provider.type;
  return (provider.replicas ?? [provider.baseUrl]).join(', ');
}
