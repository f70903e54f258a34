import type { Settings } from '@sluice/config';
import {
  OutboxFollower,
  type OutboxFollowerOptions,
  OutboxReader,
  PartsOfCells,
  type ResponseStores,
} from '@sluice/response-store';
import type { Redis } from 'ioredis';
import type { Wired } from './connect.ts';
import { type OutboxReaderName, outboxReaders } from './outbox-readers.ts';

export interface OutboxFollowersOptions extends Omit<OutboxFollowerOptions, 'reader'> {
  settings: Pick<Settings, 'recovery' | 'webhooks' | 'usage'>;
  wired: Pick<Wired<{ commands: Redis }, ResponseStores>, 'cells'>;
  name: OutboxReaderName;
  /** The process that reads, by a name of its own. */
  process: string;
  /** Most ends that are told in one go. */
  mostAtOnce: number;
  /** Asked before each read: nothing is read while it is false. */
  mayRead?: () => Promise<boolean>;
}

/** Tells the ends in the outbox of each cell while a process runs. A cell that is away holds up none of the others. */
export class OutboxFollowers {
  readonly #followers: PartsOfCells<
    Wired<{ commands: Redis }, ResponseStores>['cells']['first'],
    OutboxFollower
  >;

  constructor({ settings, wired, name, process, mostAtOnce, mayRead, ...telling }: OutboxFollowersOptions) {
    this.#followers = new PartsOfCells(wired.cells, (cell) => {
      const reader = new OutboxReader({
        redis: cell.clients.commands,
        keys: cell.store.keys.inCell(cell.name),
        reader: name,
        readers: outboxReaders(settings),
        process,
        leaseMs: settings.recovery.lockMs,
        count: mostAtOnce,
      });
      // A cell that has just joined is not there yet.
      const isThere = () => cell.clients.commands.status === 'ready';
      const take = async (told: readonly string[]) =>
        !isThere() || (mayRead && !(await mayRead())) ? undefined : reader.take(told);
      return new OutboxFollower({ ...telling, reader: { take } });
    });
  }

  start(): void {
    this.#followers.start();
  }

  /** Resolves when nothing is told any more. */
  async stop(): Promise<void> {
    await this.#followers.stop();
  }
}
