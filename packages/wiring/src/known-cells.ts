import type { Settings } from '@sluice/config';
import { FatalError, type Logger, type RedisCell, throttledWarning, untilRedisTakes } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** How often a process notes the cells that it has, in milliseconds. */
const noteEveryMs = 60_000;

/** A response may wait, run and be kept this much longer than the settings say, in milliseconds. */
const slackMs = 3_600_000;

export interface KnownCellsOptions {
  /** To the first cell. */
  connection: Pick<Redis, 'hgetall' | 'hset' | 'hdel' | 'time'>;
  /** Starts the keys of the first cell. */
  keyPrefix: string;
  found: readonly RedisCell[];
  settings: Pick<Settings, 'retention' | 'timeouts'>;
  logger: Logger;
}

/** A cell that takes new responses, or did. */
export interface KnownCell {
  name: string;
  /** When a process last had it as one that takes new responses, in milliseconds of the store's clock. */
  openAt: number;
  /** Until when responses may live in it, if it takes none since. */
  goneAt: number;
}

/**
 * The cells in which responses of a service may be. Each process notes in the first cell which cells take new responses, with the time.
 *
 * So a process does not start without a cell in which responses still live, and a tenant whose home has changed is also looked for where it was.
 */
export class KnownCells {
  readonly #options: KnownCellsOptions;
  readonly #key: string;
  /** The names of the cells that take new responses, one letter each. */
  readonly #open: string;
  #former: readonly (readonly string[])[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: KnownCellsOptions) {
    this.#options = options;
    this.#key = `${options.keyPrefix}cells`;
    const open = options.found.filter(({ isDraining }) => !isDraining).map(({ name }) => name);
    this.#open = open.toSorted().join('');
  }

  /** The sets of cells that took new responses before, as long as an Idempotency-Key of then may come again. */
  get former(): readonly (readonly string[])[] {
    return this.#former;
  }

  /**
   * Notes the cells of this process, from now on each minute.
   *
   * @throws {FatalError} when the addresses lack a cell in which responses may live.
   */
  async start(signal: AbortSignal): Promise<void> {
    await untilRedisTakes(() => this.#mustHaveAll(), signal);
    await untilRedisTakes(() => this.#note(), signal);
    const { warn } = throttledWarning(this.#options.logger, 'cells not noted');
    this.#timer ??= setInterval(() => void this.#note().catch(warn), noteEveryMs);
  }

  /** Safe to call twice, or before `start`. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The cells in which responses may be, by the notes. */
  async read(): Promise<KnownCell[]> {
    const { sets } = await this.#sets();
    const latest = new Map<string, number>();
    for (const { open, at } of sets)
      for (const name of open) latest.set(name, Math.max(at, latest.get(name) ?? 0));
    const longestMs = longestLifeMs(this.#options.settings);
    return [...latest].map(([name, openAt]) => ({ name, openAt, goneAt: openAt + longestMs }));
  }

  /** Says that a cell is gone, with all that was in it. False when no cell of the name is known. */
  async forget(name: string): Promise<boolean> {
    const { sets } = await this.#sets();
    const having = sets.filter(({ open }) => open.includes(name));
    if (having.length === 0) return false;
    const { connection } = this.#options;
    for (const { open, at } of having) {
      const others = open.filter((each) => each !== name).join('');
      if (others !== '') await connection.hset(this.#key, others, String(at));
      await connection.hdel(this.#key, open.join(''));
    }
    return true;
  }

  async #sets(): Promise<{ sets: { open: string[]; at: number }[]; now: number }> {
    const { connection } = this.#options;
    const [noted, [seconds]] = await Promise.all([connection.hgetall(this.#key), connection.time()]);
    const sets = Object.entries(noted).map(([open, at]) => ({ open: Array.from(open), at: Number(at) }));
    return { sets, now: Number(seconds) * 1_000 };
  }

  async #note(): Promise<void> {
    const { connection, settings } = this.#options;
    const { sets, now } = await this.#sets();
    const longestMs = longestLifeMs(settings);
    const gone = sets.filter(({ at }) => now - at > longestMs).map(({ open }) => open.join(''));
    const askedForMs = settings.retention.idempotencySeconds * 1_000;
    this.#former = sets
      .filter(({ open, at }) => now - at <= askedForMs && open.join('') !== this.#open)
      .map(({ open }) => open);
    if (gone.length > 0) await connection.hdel(this.#key, ...gone);
    await connection.hset(this.#key, this.#open, String(now));
  }

  async #mustHaveAll(): Promise<void> {
    const { found, connection } = this.#options;
    const [known, [seconds]] = await Promise.all([this.read(), connection.time()]);
    const leftMs = ({ goneAt }: KnownCell) => goneAt - Number(seconds) * 1_000;
    const missing = known.find((each) => leftMs(each) > 0 && !found.some(({ name }) => name === each.name));
    if (!missing) return;
    const hours = Math.ceil(leftMs(missing) / 3_600_000);
    throw new FatalError(
      `REDIS_URL does not name the cell '${missing.name}' any more, and responses may live there for another ${hours} h: ` +
        `put its address back with the parameter 'drain', so that it takes no new ones, or say that it is gone with 'sluice cells forget ${missing.name}'.`,
      { exitCode: 2 },
    );
  }
}

/** How long after its acceptance a response may be there. */
function longestLifeMs({ retention, timeouts }: Pick<Settings, 'retention' | 'timeouts'>): number {
  const queueMs = Math.max(timeouts.queueMs, timeouts.backgroundQueueMs);
  return queueMs + timeouts.totalMs + retention.responseSeconds * 1_000 + slackMs;
}
