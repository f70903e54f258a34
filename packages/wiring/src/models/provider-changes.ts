import { checkProvider, type StoredProvider, StoredRefusal } from '@sluice/config';
import { type MemberPatch, StoredChanges, type StoredChangesOptions } from './stored-changes.ts';
import { activeOf, type StoredSettings } from './stored-settings.ts';

/** Most models that a refusal names. */
const mostNamed = 5;

/** Adds, changes and removes stored providers; see `StoredChanges`. */
export class ProviderChanges {
  readonly #changes: StoredChanges<'providers'>;

  constructor(options: StoredChangesOptions) {
    this.#changes = new StoredChanges('providers', options);
  }

  /** @throws {StoredRefusal} for a provider that is not valid, and for an id that is taken. */
  add(wanted: Record<string, unknown>): Promise<StoredProvider> {
    return this.#changes.make((stored) => {
      this.#changes.refuseTaken(wanted['id'], stored);
      return checked(wanted);
    });
  }

  /** @throws {StoredRefusal} for a provider that is not stored, and for members that are not valid. */
  change(id: string, patch: MemberPatch): Promise<StoredProvider> {
    return this.#changes.make((stored) => {
      const { value } = this.#changes.known(id, stored);
      if (Object.hasOwn(patch, 'type') && patch['type'] !== value.type) {
        const message = 'cannot be changed; add another provider and remove this one';
        throw new StoredRefusal('invalid', [{ path: ['type'], message }]);
      }
      return checked(this.#changes.patched(value, patch));
    });
  }

  /**
   * Takes a provider away. Models that were removed before keep it until they are no longer served.
   *
   * @returns the provider as it was.
   * @throws {StoredRefusal} for a provider that is not stored, and for one that a stored model has a route to.
   */
  remove(id: string): Promise<StoredProvider> {
    return this.#changes.make(
      (stored) => {
        const { value } = this.#changes.known(id, stored);
        refuseUsed(id, stored);
        return value;
      },
      { isRemoval: true },
    );
  }
}

function checked(wanted: Record<string, unknown>): StoredProvider {
  const result = checkProvider(wanted);
  if ('problems' in result) throw new StoredRefusal('invalid', result.problems);
  return result.members;
}

function refuseUsed(id: string, { models }: StoredSettings): void {
  const users = activeOf(models)
    .filter(([, { routes }]) => routes.some(({ provider }) => provider === id))
    .map(([model]) => `"${model}"`);
  if (users.length === 0) return;
  const named = users.slice(0, mostNamed);
  const rest = users.length - named.length;
  const all = rest > 0 ? [...named, `${rest} more`] : named;
  const list = all.length === 1 ? all[0] : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
  const message = `"${id}" cannot be removed, because stored models have routes to it: ${list}; change or remove them first`;
  throw new StoredRefusal('in_use', [{ path: ['id'], message }]);
}
