import { randomUUID } from 'node:crypto';
import { checkModel, ModelRefusal, type ModelSettings, suggestName } from '@sluice/config';
import {
  type EntriesConnection,
  type EntriesSnapshot,
  isReplyMissing,
  pause,
  StoredEntries,
  versionField,
} from '@sluice/runtime';
import type { ModelsAndProviders } from './live-models.ts';
import {
  type AcceptedTimeouts,
  acceptedForMs,
  parseStoredModels,
  type StoredModel,
} from './stored-models.ts';

/** The stored models of a service, by their ids. */
export class ModelStore extends StoredEntries {
  /** `keyPrefix` starts every key of the cell. */
  constructor({ connection, keyPrefix }: { connection: EntriesConnection; keyPrefix: string }) {
    super({ connection, key: `${keyPrefix}models` });
  }
}

/** Members of a model that a change gives, as in the file; null takes one away. */
export type ModelPatch = Record<string, unknown>;

export interface ModelChangesOptions {
  store: Pick<StoredEntries, 'read' | 'change' | 'now'>;
  /** What the settings file says now. */
  file: () => ModelsAndProviders;
  timeouts: AcceptedTimeouts;
}

export interface ModelRemovalOptions {
  /** The models that this process knows of, where the queue is to be drained: the removal is refused if another one is in it. */
  aloneAmong?: readonly ModelSettings[] | undefined;
}

/** A removed model is kept for this long at least, in milliseconds, and until whatever was accepted for it has ended. */
const keptAtLeastMs = 7 * 86_400_000;

/** Most models that are stored, as many as a file may have. */
const mostModels = 10_000;

/** How often a change is sent until Redis says what has become of it, and the pause between. */
const mostSends = 10;
const sendAgainMs = 300;

/** How often a change is made anew because others were faster. */
const mostRounds = 50;

/**
 * Adds, changes and removes stored models. Every process follows within two seconds. A change is decided on what was read, and made
 * only if that has not changed; a call whose reply was lost is sent again and counts once.
 */
export class ModelChanges {
  readonly #options: ModelChangesOptions;

  constructor(options: ModelChangesOptions) {
    this.#options = options;
  }

  /** @throws {ModelRefusal} for a model that is not valid, and for an id that is taken. */
  add(wanted: Record<string, unknown>): Promise<ModelSettings> {
    return this.#change((stored) => {
      const { id } = wanted;
      if (typeof id === 'string') {
        this.#refuseOfFile(id);
        if (id === versionField) {
          const message = `"${id}" cannot be the id of a stored model; name it in the settings file`;
          throw new ModelRefusal('invalid', [{ path: ['id'], message }]);
        }
        const known = stored.get(id);
        if (known && known.removedAt === undefined) {
          throw new ModelRefusal('exists', [
            { path: ['id'], message: `"${id}" is stored already; change it` },
          ]);
        }
      }
      const active = [...stored.values()].filter(({ removedAt }) => removedAt === undefined);
      if (active.length >= mostModels) {
        throw new ModelRefusal('invalid', [
          { path: [], message: `there are ${mostModels} stored models already` },
        ]);
      }
      return this.#checked(wanted, stored);
    });
  }

  /** @throws {ModelRefusal} for a model that is not stored, and for members that are not valid. */
  change(id: string, patch: ModelPatch): Promise<ModelSettings> {
    return this.#change((stored) => {
      const { model } = this.#known(id, stored);
      if (Object.hasOwn(patch, 'id') && patch['id'] !== id) {
        throw new ModelRefusal('invalid', [
          { path: ['id'], message: 'cannot be changed; add another model and remove this one' },
        ]);
      }
      const known = Object.hasOwn(patch, 'concurrency') ? model : this.#withConcurrencyOfFile(model);
      const members = Object.entries({ ...known, ...patch }).filter(([, value]) => value !== null);
      return this.#checked(Object.fromEntries(members), stored);
    });
  }

  /**
   * Takes a model away: nothing new is accepted for it, and what waits for it is served.
   *
   * @returns the model as it was.
   * @throws {ModelRefusal} for a model that is not stored, and with `aloneAmong` for one that shares its queue.
   */
  remove(id: string, { aloneAmong }: ModelRemovalOptions = {}): Promise<ModelSettings> {
    return this.#change(
      (stored, now) => {
        const { model } = this.#known(id, stored);
        if (aloneAmong) this.#refuseShared(model, [...aloneAmong, ...this.#stillServed(stored, now)]);
        return model;
      },
      { isRemoval: true },
    );
  }

  /** What waits for a model that was removed with its queue kept is served, so it counts here. */
  #stillServed(stored: ReadonlyMap<string, StoredModel>, now: number): ModelSettings[] {
    const servedMs = acceptedForMs(this.#options.timeouts);
    return [...stored.values()]
      .filter(({ removedAt = now }) => removedAt > now - servedMs)
      .map(({ model }) => model);
  }

  #refuseShared({ id, queue }: ModelSettings, among: readonly ModelSettings[]): void {
    const other = among.find((each) => each.queue === queue && each.id !== id);
    if (!other) return;
    const message = `"${queue}" has what waits for "${other.id}", too, so it cannot be drained; keep it, and cancel the responses of "${id}"`;
    throw new ModelRefusal('shared', [{ path: ['queue'], message }]);
  }

  async #change(
    decide: (stored: ReadonlyMap<string, StoredModel>, now: number) => ModelSettings,
    { isRemoval = false } = {},
  ): Promise<ModelSettings> {
    const { store, timeouts } = this.#options;
    const forgottenAfterMs = Math.max(keptAtLeastMs, acceptedForMs(timeouts));
    for (let round = 0; round < mostRounds; round += 1) {
      const snapshot = await store.read();
      const now = await store.now();
      const stored = parseStoredModels(snapshot);
      const model = decide(stored, now);
      const entry: StoredModel = { model, changedAt: now, ...(isRemoval && { removedAt: now }) };
      const entries = new Map([[model.id, JSON.stringify(entry)]]);
      for (const [id, { removedAt = now }] of stored) {
        if (removedAt < now - forgottenAfterMs && id !== model.id) entries.set(id, '');
      }
      if (await this.#send(snapshot, entries)) return model;
    }
    throw new Error('Others change models all the time, so nothing was changed');
  }

  async #send(from: EntriesSnapshot, entries: ReadonlyMap<string, string>): Promise<boolean> {
    const change = { from, entries, version: randomUUID() };
    for (let sends = 1; ; sends += 1) {
      try {
        return await this.#options.store.change(change);
      } catch (error) {
        if (!isReplyMissing(error) || sends === mostSends) throw error;
      }
      await pause(sendAgainMs, new AbortController().signal);
    }
  }

  #checked(wanted: Record<string, unknown>, stored: ReadonlyMap<string, StoredModel>): ModelSettings {
    const { models, providers } = this.#options.file();
    const others = [...stored.values()]
      .filter(({ model, removedAt }) => removedAt === undefined && model.id !== wanted['id'])
      .map(({ model }) => model);
    const checked = checkModel(wanted, { others: [...models, ...others], providers });
    if ('problems' in checked) throw new ModelRefusal('invalid', checked.problems);
    return checked;
  }

  /** The file may have given a queue another concurrency since the model was stored. */
  #withConcurrencyOfFile(model: ModelSettings): ModelSettings {
    if (!this.#options.file().models.some(({ queue }) => queue === model.queue)) return model;
    const { concurrency: _, ...rest } = model;
    return rest;
  }

  #known(id: string, stored: ReadonlyMap<string, StoredModel>): StoredModel {
    this.#refuseOfFile(id);
    const known = stored.get(id);
    if (known && known.removedAt === undefined) return known;
    const ids = [...stored].filter(([, { removedAt }]) => removedAt === undefined).map(([each]) => each);
    const hint = ids.length === 0 ? 'there are none' : suggestName(id, ids);
    throw new ModelRefusal('unknown', [
      { path: ['id'], message: `"${id}" is not the id of a stored model; ${hint}` },
    ]);
  }

  #refuseOfFile(id: string): void {
    if (!this.#options.file().models.some((model) => model.id === id)) return;
    const message = `"${id}" is a model of the settings file, which wins; change it there`;
    throw new ModelRefusal('of_file', [{ path: ['id'], message }]);
  }
}
