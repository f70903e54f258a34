import { EntriesWatch, type Logger, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import type { LiveModels } from './live-models.ts';
import { type ModelStore, parseStored, type StoredSnapshot } from './stored-settings.ts';

export interface StoredWatchOptions {
  store: Pick<ModelStore, 'version' | 'read'>;
  live: Pick<LiveModels, 'takeStored' | 'unusable' | 'unusableProviders'>;
  logger: Logger;
  /** How often the version is asked for, in milliseconds; a second by default. */
  everyMs?: number | undefined;
}

/**
 * Puts the models and providers that operators have stored into effect, in every process, within a second of a change. While Redis is
 * away, and when it was emptied, a process goes on with what it knows.
 */
export class StoredWatch {
  readonly #watch: EntriesWatch<StoredSnapshot>;

  constructor({ store, live, logger, everyMs = 1_000 }: StoredWatchOptions) {
    this.#watch = new EntriesWatch({
      store,
      apply: ({ models, providers }: StoredSnapshot) => {
        // A store that was emptied tells nothing, and neither does one that never had any.
        if (models.version === undefined && providers.version === undefined) return;
        live.takeStored({
          ...(models.version !== undefined && { models: parseStored('models', models) }),
          ...(providers.version !== undefined && { providers: parseStored('providers', providers) }),
        });
        const { unusable, unusableProviders } = live;
        logger.info({ unusable, unusableProviders }, 'stored models or providers changed');
      },
      onError: throttledWarning(logger, 'stored models not read, those known stay').warn,
      intervalMs: everyMs,
    });
  }

  /** Resolves when they are in effect in this process, as soon as Redis answers, and follows them from then on. */
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
