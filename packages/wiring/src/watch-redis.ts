import type { Settings } from '@sluice/config';
import { type ResponseStores, untilCellsStart } from '@sluice/response-store';
import { loggedError, type Logger, RedisWatch } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { untilUsable } from './cells/until-usable.ts';
import type { Wired } from './connect.ts';

/** Watches the Redis of a process, in each cell over all of its connections. Start what it returns. */
export function watchRedis(
  { cells }: Wired<{ commands: Redis }, ResponseStores>,
  { logger, ...options }: { logger: Logger; durability?: Settings['durability'] },
): RedisWatches {
  const watches = new RedisWatches(logger);
  cells.follow({
    join: ({ name, url, clients, store }) => {
      const { commands, ...others } = clients;
      const watch = new RedisWatch({
        ...options,
        url,
        commands,
        others: Object.values(others),
        probeKey: store.keys.inCell(name).probe,
        logger,
      });
      watches.join({ name, url, watch });
    },
    leave: ({ name }) => watches.leave(name),
  });
  return watches;
}

interface WatchedCell {
  name: string;
  url: string;
  watch: RedisWatch;
}

/** Whether the Redis of a process is there, in its cells: see `RedisWatch`. */
export class RedisWatches implements Pick<RedisWatch, keyof RedisWatch> {
  readonly #cells = new Map<string, WatchedCell>();
  readonly #logger: Logger;
  /** Set once they have been started. */
  #signal: AbortSignal | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Watches one more cell. */
  join(cell: WatchedCell): void {
    this.#cells.set(cell.name, cell);
    const signal = this.#signal;
    if (signal) void this.#startLate(cell, signal);
  }

  leave(name: string): void {
    this.#cells.get(name)?.watch.stop();
    this.#cells.delete(name);
  }

  /**
   * Waits for one cell, however long that takes. Another one that is away is not waited for for long, and is watched once it can be used.
   *
   * @throws {FatalError} that says what to change, for a problem that waiting cannot mend.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    let hasStarted = false;
    const starts = [...this.#cells.values()].map(async (cell) => {
      try {
        await cell.watch.start(signal);
      } catch (error) {
        if (!hasStarted) throw error;
        await this.#startLate(cell, signal);
      }
    });
    await untilCellsStart(starts, () => undefined);
    hasStarted = true;
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
    return [...this.#cells].filter(([, { watch }]) => !watch.isWell).map(([name]) => name);
  }

  /** The facts of the first cell. */
  get facts(): RedisWatch['facts'] {
    return this.#watches[0]?.facts;
  }

  get #watches(): RedisWatch[] {
    return [...this.#cells.values()].map(({ watch }) => watch);
  }

  /** Watches a cell as soon as it can be used. Nobody waits for it, so nothing is thrown. */
  async #startLate(cell: WatchedCell, signal: AbortSignal): Promise<void> {
    const { name, url, watch } = cell;
    const logger = this.#logger;
    try {
      await untilUsable(() => watch.start(signal), { name, url, logger, signal });
    } catch (error) {
      if (this.#cells.get(name) === cell && !signal.aborted)
        logger.error({ cell: name, err: loggedError(error) }, 'a cell of the store cannot be used');
    }
  }
}
