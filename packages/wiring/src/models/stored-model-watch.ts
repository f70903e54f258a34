import { EntriesWatch, type Logger, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import type { LiveModels } from './live-models.ts';
import type { ModelStore } from './model-changes.ts';
import { parseStoredModels } from './stored-models.ts';

export interface StoredModelWatchOptions {
  store: Pick<ModelStore, 'version' | 'read'>;
  live: Pick<LiveModels, 'takeStored' | 'unusable'>;
  logger: Logger;
  /** How often the version is asked for, in milliseconds; a second by default. */
  everyMs?: number | undefined;
}

/**
 * Offers the models that operators have stored, in every process, within a second of a change. While Redis is away, and when it was
 * emptied, a process goes on with what it knows.
 */
export class StoredModelWatch {
  readonly #watch: EntriesWatch;

  constructor({ store, live, logger, everyMs = 1_000 }: StoredModelWatchOptions) {
    this.#watch = new EntriesWatch({
      store,
      apply: (snapshot) => {
        // A store that was emptied tells nothing, and neither does one that never had any.
        if (snapshot.version === undefined) return;
        live.takeStored(parseStoredModels(snapshot));
        logger.info({ unusable: live.unusable }, 'stored models changed');
      },
      onError: throttledWarning(logger, 'stored models not read, those known stay').warn,
      intervalMs: everyMs,
    });
  }

  /** Resolves when this process offers them, as soon as Redis answers, and follows them from then on. */
  async start(signal: AbortSignal): Promise<void> {
    await untilRedisTakes(() => this.look(), signal);
    this.#watch.start();
  }

  /** Reads them once, and puts them into effect. */
  look(): Promise<void> {
    return this.#watch.look();
  }

  /** May be called twice, or without a start. */
  stop(): Promise<void> {
    return this.#watch.stop();
  }
}
