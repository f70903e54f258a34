import { type Settings, StoredRefusal } from '@sluice/config';
import {
  closeRedis,
  commandClient,
  FatalError,
  type Logger,
  pause,
  type RedisCell,
  requireRedis,
} from '@sluice/runtime';
import type { KnownCells } from './known-cells.ts';
import type { StoredCells } from './stored-cells.ts';

/** How long processes may take to leave a cell, in milliseconds. */
const leavingMs = 3_000;

export interface CellChangesOptions {
  stored: StoredCells;
  known: KnownCells;
  /** The cells of REDIS_URL. */
  configured: readonly RedisCell[];
  /** The settings ask so much of a store. */
  durability: Settings['durability'];
  /** The clock of the first cell, in milliseconds. */
  now: () => number;
  /** Has this process follow the change at once. */
  follow: () => Promise<void>;
  logger: Logger;
}

/** Changes of the cells while the service runs. Every process follows them. Each rejects with a `StoredRefusal` for what makes no sense. */
export class CellChanges {
  readonly #options: CellChangesOptions;

  constructor(options: CellChangesOptions) {
    this.#options = options;
  }

  /**
   * Adds the cell at an address, as it would stand in REDIS_URL. It takes new responses once every process has reached it.
   *
   * @returns its name.
   */
  async add(address: string): Promise<string> {
    const { stored, configured } = this.#options;
    const cell = await stored.check(address, configured);
    await this.#mustAnswer(cell);
    await stored.add(cell, configured);
    await this.#follow();
    return cell.name;
  }

  /** Has a cell take no new responses, but for those that continue one of its own. */
  async drain(name: string): Promise<void> {
    await this.#options.stored.setOpen(name, false, this.#options.configured);
    await this.#follow();
  }

  /** Has a cell that drains take new responses again. */
  async open(name: string): Promise<void> {
    await this.#options.stored.setOpen(name, true, this.#options.configured);
    await this.#follow();
  }

  /** Takes a cell away that was added and drained, once no response can live there. */
  async remove(name: string): Promise<void> {
    const { stored, known, configured, now } = this.#options;
    await stored.mustBeRemovable(name, configured);
    const noted = (await known.read()).find((each) => each.name === name);
    if (noted && noted.goneAt > now()) {
      const until = new Date(noted.goneAt).toISOString();
      const message = `is '${name}', where responses may live until ${until}; when they are lost, 'sluice cells forget ${name}' says so`;
      throw new StoredRefusal('in_use', [{ path: ['cell'], message }]);
    }
    await stored.remove(name, configured);
    await known.forget(name);
    await this.#follow();
  }

  /**
   * Says that a cell is lost, with all that was in it: no process needs it from now on.
   *
   * @throws {StoredRefusal} for one that REDIS_URL names, and one that is not known.
   */
  async forget(name: string): Promise<void> {
    const { stored, known, configured } = this.#options;
    const isStored = (await stored.read()).cells.get(name)?.url !== undefined;
    if (configured.some((each) => each.name === name))
      throw new StoredRefusal('invalid', [
        { path: ['cell'], message: `is '${name}', which REDIS_URL names: take its address out first` },
      ]);
    if (isStored) {
      await stored.remove(name, configured, { isLost: true });
      // Until every process has left it, each notes it again.
      await pause(leavingMs, new AbortController().signal);
    }
    if (!(await known.forget(name)) && !isStored)
      throw new StoredRefusal('unknown', [
        {
          path: ['cell'],
          message: `is '${name}', and there is no such cell: 'sluice cells' shows those that are`,
        },
      ]);
  }

  /** The change is made: a process that cannot follow it now does so soon. */
  async #follow(): Promise<void> {
    await this.#options.follow().catch(() => undefined);
  }

  async #mustAnswer({ url }: RedisCell): Promise<void> {
    const { logger } = this.#options;
    const client = commandClient(url, { logger, connectionName: 'sluice-new-cell' });
    try {
      const { signal } = new AbortController();
      await requireRedis(client, { url, durability: this.#options.durability, logger, signal });
    } catch (error) {
      if (!(error instanceof FatalError)) throw error;
      throw new StoredRefusal('invalid', [{ path: ['address'], message: `is no cell: ${error.message}` }]);
    } finally {
      await closeRedis(client);
    }
  }
}
