import { type CellMemory, RedisMemory, type UsedMemory } from '@sluice/runtime';
import { PartsOfCells } from '@sluice/response-store';
import type { ApiClients, Wired } from '@sluice/wiring';

/** How full the memory of Redis is; see `RedisMemory`. */
export type Memory = Pick<RedisMemory, 'usedPercent' | 'used'>;

type ApiCells = Wired<ApiClients, unknown>['cells'];

/** How full the memory of Redis is in each cell, and in all of them together. */
export class CellMemories implements Memory {
  readonly #cells: ApiCells;
  readonly #memories: PartsOfCells<ApiCells['first'], RedisMemory>;

  constructor(cells: ApiCells, onError: (error: unknown) => void) {
    this.#cells = cells;
    this.#memories = new PartsOfCells(
      cells,
      ({ clients: { commands } }) => new RedisMemory({ commands, onError }),
    );
  }

  /** The memory of the cell of a response. */
  of(responseId: string): Memory {
    return this.#memories.in(this.#cells.of(responseId).name) ?? this;
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

  /** The memory of each cell: one may be full while the others have room. */
  get byCell(): CellMemory[] {
    return this.#cells.all.map(({ name }) => ({ cell: name, used: this.#memories.in(name)?.used }));
  }

  start(): void {
    this.#memories.start();
  }

  /** Twice, or before `start`, is fine. */
  stop(): void {
    void this.#memories.stop(); // A memory stops at once.
  }

  get #all(): RedisMemory[] {
    return this.#memories.all;
  }
}
