import { RedisMemory, type UsedMemory } from '@sluice/runtime';
import type { ApiClients, Wired } from '@sluice/wiring';

/** How full the memory of Redis is; see `RedisMemory`. */
export type Memory = Pick<RedisMemory, 'usedPercent' | 'used'>;

/** How full the memory of Redis is in each cell, and in all of them together. */
export class CellMemories implements Memory {
  readonly #byCell: ReadonlyMap<string, RedisMemory>;
  readonly #cellOf: (responseId: string) => { name: string };

  constructor(
    { cells, cellOf }: Pick<Wired<ApiClients, unknown>, 'cells' | 'cellOf'>,
    onError: (error: unknown) => void,
  ) {
    this.#byCell = new Map(
      cells.map(({ name, clients: { commands } }) => [name, new RedisMemory({ commands, onError })]),
    );
    this.#cellOf = cellOf;
  }

  /** The memory of the cell of a response. */
  of(responseId: string): Memory {
    return this.#byCell.get(this.#cellOf(responseId).name) ?? this;
  }

  /** The fullest cell counts, which is the first to refuse. */
  get usedPercent(): number {
    return Math.max(...this.#all.map(({ usedPercent }) => usedPercent));
  }

  /** The sum over the cells; undefined until one has told, and without a limit where one has none. */
  get used(): UsedMemory | undefined {
    const told = this.#all.flatMap(({ used }) => used ?? []);
    if (told.length === 0) return undefined;
    const limits = told.flatMap(({ limitBytes }) => limitBytes ?? []);
    return {
      usedBytes: told.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
      limitBytes: limits.length < told.length ? undefined : limits.reduce((sum, limit) => sum + limit, 0),
    };
  }

  start(): void {
    for (const memory of this.#all) memory.start();
  }

  /** Twice, or before `start`, is fine. */
  stop(): void {
    for (const memory of this.#all) memory.stop();
  }

  get #all(): RedisMemory[] {
    return [...this.#byCell.values()];
  }
}
