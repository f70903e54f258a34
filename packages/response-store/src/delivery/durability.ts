import type { RedisCommands } from '../record/connection.ts';

/**
 * How safe a write must be before anybody is told of it.
 *
 * - `local`: the server has it; what that survives is the server's own setting
 * - `fsync`: it is on the server's disk (`WAITAOF`, Redis 7.2)
 * - `replica`: a replica has it (`WAIT`), so it survives a failover
 */
export type Durability = 'local' | 'fsync' | 'replica';

/** A connection that can wait for what was written over it. */
export interface WaitingConnection {
  call(name: string, ...args: (string | number)[]): Promise<unknown>;
}

export type BarrierConnection = Pick<RedisCommands, 'set'> & WaitingConnection;

/** How safe a write must be, where the server alone is not safe enough. */
export interface AwaitedSafety {
  durability: Exclude<Durability, 'local'>;
  /** How long that may take, in milliseconds. */
  withinMs: number;
}

/** Waits until what was written over a connection is as safe as that. False when it takes too long. */
async function isWrittenSafely(
  connection: WaitingConnection,
  { durability, withinMs }: AwaitedSafety,
): Promise<boolean> {
  const reply: unknown = await (durability === 'replica'
    ? connection.call('WAIT', 1, withinMs)
    : connection.call('WAITAOF', 1, 0, withinMs));
  return Number([reply].flat()[0]) >= 1;
}

export interface DurabilityBarrierOptions extends AwaitedSafety {
  /** A connection of its own: it stands still while it waits. */
  connection: BarrierConnection;
  /** One key in each cell. What is written there says nothing; that it is written is the point. */
  keys: readonly string[];
}

/** The key of a barrier that nobody needs goes by itself, in milliseconds. */
const keyMs = 60_000;

/**
 * Waits until everything that the store has done by now is as safe as was asked for.
 *
 * The server carries out writes in order, so a write of our own that has got somewhere has all earlier ones behind it,
 * whichever connection they came by. Everybody who asks while one wait is under way shares the next one, so the cost is
 * that of a wait at a time, whatever the load.
 */
export class DurabilityBarrier {
  readonly #options: DurabilityBarrierOptions;
  #current: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;

  constructor(options: DurabilityBarrierOptions) {
    this.#options = options;
  }

  /** False when it was not reached in time. Rejects when the store does not answer at all. */
  reached(): Promise<boolean> {
    if (!this.#current) return this.#begin();
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<boolean> {
    const current = this.#wait().finally(() => {
      if (this.#current === current) this.#current = undefined;
    });
    this.#current = current;
    return current;
  }

  async #wait(): Promise<boolean> {
    const { connection, keys, ...safety } = this.#options;
    const written = keys.map((key) => connection.set(key, '1', 'PX', keyMs));
    const [isSafe] = await Promise.all([isWrittenSafely(connection, safety), ...written]);
    return isSafe;
  }
}
