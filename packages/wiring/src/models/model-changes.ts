import { checkModel, type ModelSettings, StoredRefusal } from '@sluice/config';
import { type MemberPatch, StoredChanges, type StoredChangesOptions } from './stored-changes.ts';
import { usableProviders } from './stored-providers.ts';
import { acceptedForMs, activeOf, type StoredSettings } from './stored-settings.ts';

export interface ModelRemovalOptions {
  /** The models that this process knows of, where the queue is to be drained: the removal is refused if another one is in it. */
  aloneAmong?: readonly ModelSettings[] | undefined;
}

/** Adds, changes and removes stored models; see `StoredChanges`. */
export class ModelChanges {
  readonly #options: StoredChangesOptions;
  readonly #changes: StoredChanges<'models'>;

  constructor(options: StoredChangesOptions) {
    this.#options = options;
    this.#changes = new StoredChanges('models', options);
  }

  /** @throws {StoredRefusal} for a model that is not valid, and for an id that is taken. */
  add(wanted: Record<string, unknown>): Promise<ModelSettings> {
    return this.#changes.make((stored) => {
      this.#changes.refuseTaken(wanted['id'], stored);
      return this.#checked(wanted, stored);
    });
  }

  /** @throws {StoredRefusal} for a model that is not stored, and for members that are not valid. */
  change(id: string, patch: MemberPatch): Promise<ModelSettings> {
    return this.#changes.make((stored) => {
      const { value } = this.#changes.known(id, stored);
      const known = Object.hasOwn(patch, 'concurrency') ? value : this.#withConcurrencyOfFile(value);
      return this.#checked(this.#changes.patched(known, patch), stored);
    });
  }

  /**
   * Takes a model away: nothing new is accepted for it, and what waits for it is served.
   *
   * @returns the model as it was.
   * @throws {StoredRefusal} for a model that is not stored, and with `aloneAmong` for one that shares its queue.
   */
  remove(id: string, { aloneAmong }: ModelRemovalOptions = {}): Promise<ModelSettings> {
    return this.#changes.make(
      (stored, now) => {
        const { value } = this.#changes.known(id, stored);
        if (aloneAmong) this.#refuseShared(value, [...aloneAmong, ...this.#stillServed(stored, now)]);
        return value;
      },
      { isRemoval: true },
    );
  }

  /** What waits for a model that was removed with its queue kept is served, so it counts here. */
  #stillServed({ models }: StoredSettings, now: number): ModelSettings[] {
    const servedMs = acceptedForMs(this.#options.timeouts);
    return [...models.values()]
      .filter(({ removedAt = now }) => removedAt > now - servedMs)
      .map(({ value }) => value);
  }

  #refuseShared({ id, queue }: ModelSettings, among: readonly ModelSettings[]): void {
    const other = among.find((each) => each.queue === queue && each.id !== id);
    if (!other) return;
    const message = `"${queue}" has what waits for "${other.id}", too, so it cannot be drained; keep it, and cancel the responses of "${id}"`;
    throw new StoredRefusal('shared', [{ path: ['queue'], message }]);
  }

  #checked(wanted: Record<string, unknown>, stored: StoredSettings): ModelSettings {
    const file = this.#options.file();
    const others = activeOf(stored.models)
      .filter(([id]) => id !== wanted['id'])
      .map(([, model]) => model);
    const providers = [...file.providers, ...usableProviders(stored.providers, file).providers];
    const checked = checkModel(wanted, { others: [...file.models, ...others], providers });
    if ('problems' in checked) throw new StoredRefusal('invalid', checked.problems);
    return checked;
  }

  /** The file may have given a queue another concurrency since the model was stored. */
  #withConcurrencyOfFile(model: ModelSettings): ModelSettings {
    if (!this.#options.file().models.some(({ queue }) => queue === model.queue)) return model;
    const { concurrency: _, ...rest } = model;
    return rest;
  }
}
