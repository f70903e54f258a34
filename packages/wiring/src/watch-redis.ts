import type { Settings } from '@sluice/config';
import { type ResponseStores, untilCellsStart } from '@sluice/response-store';
import { loggedError, type Logger, RedisWatch } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import type { Wired } from './connect.ts';

/** Watches the Redis of a process, in each cell over all of its connections. Start what it returns. */
export function watchRedis(
  { cells }: Wired<{ commands: Redis }, ResponseStores>,
  { logger, ...options }: { logger: Logger; durability?: Settings['durability'] },
): RedisWatches {
  const watches = cells.map(({ name, url, clients, store }): WatchedCell => {
    const { commands, ...others } = clients;
    const watch = new RedisWatch({
      ...options,
      url,
      commands,
      others: Object.values(others),
      probeKey: store.keys.inCell(name).probe,
      logger,
    });
    return { name, watch };
  });
  return new RedisWatches(watches, logger);
}

interface WatchedCell {
  name: string;
  watch: RedisWatch;
}

/** Whether the Redis of a process is there, in its cells: see `RedisWatch`. */
export class RedisWatches implements Pick<RedisWatch, keyof RedisWatch> {
  readonly #cells: readonly WatchedCell[];
  readonly #logger: Logger;

  constructor(cells: readonly WatchedCell[], logger: Logger) {
    this.#cells = cells;
    this.#logger = logger;
  }

  /**
   * Waits for one cell, however long that takes. Another one that is away is not waited for for long.
   *
   * @throws {FatalError} that says what to change, for a problem that waiting cannot mend.
   */
  async start(signal: AbortSignal): Promise<void> {
    const starts = this.#watches.map((watch) => watch.start(signal));
    await untilCellsStart(starts, (error) => {
      if (!signal.aborted)
        this.#logger.error({ err: loggedError(error) }, 'a cell of the store cannot be used');
    });
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
  }

  /** Whether one cell is ready: what is bound to another one is refused, and all else is served. */
  async isReady(): Promise<boolean> {
    return (await Promise.all(this.#watches.map((watch) => watch.isReady()))).some(Boolean);
  }

  /** Whether all of them are well. */
  get isWell(): boolean {
    return this.#watches.every(({ isWell }) => isWell);
  }

  get problems(): RedisWatch['problems'] {
    return this.#watches.flatMap(({ problems }) => problems);
  }

  /** The cells that are not well. */
  get away(): string[] {
    return this.#cells.filter(({ watch }) => !watch.isWell).map(({ name }) => name);
  }

  /** Those of the first cell. */
  get facts(): RedisWatch['facts'] {
    return this.#watches[0]?.facts;
  }

  get #watches(): RedisWatch[] {
    return this.#cells.map(({ watch }) => watch);
  }
}
