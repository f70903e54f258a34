import type { CellList, ChangedCell } from '@sluice/contract/admin';
import { maskRedisUrl, parseRedisAddress } from '@sluice/runtime';
import type { Asker, Audit } from '../audit/audit.ts';
import { orRefuse } from '../models/or-refuse.ts';
import { type CellsInEffect, cellRows } from './cell-rows.ts';

/** Changes the cells of a service while it runs; rejects with a `StoredRefusal` for what makes no sense. */
export interface CellSteps {
  /** Returns the name of the cell. */
  add: (address: string) => Promise<string>;
  drain: (name: string) => Promise<void>;
  open: (name: string) => Promise<void>;
  remove: (name: string) => Promise<void>;
}

export interface CellActsOptions extends CellsInEffect {
  cellChanges: CellSteps;
  audit: Pick<Audit, 'perform'>;
}

/** An address that cannot be read is refused, and may have a password anywhere. */
function shownAddress(address: string): string {
  try {
    parseRedisAddress(address);
    return maskRedisUrl(address);
  } catch {
    return 'an address';
  }
}

/** The cells of the store as operators see them, and their changes, each with its entries in the audit log. */
export class CellActs {
  readonly #options: CellActsOptions;

  constructor(options: CellActsOptions) {
    this.#options = options;
  }

  async list(): Promise<CellList> {
    return { object: 'list', data: await cellRows(this.#options) };
  }

  async add(address: string, asker: Asker): Promise<ChangedCell> {
    const target = shownAddress(address);
    const cell = await this.#options.audit.perform(
      { action: 'cell.add', target, ...asker },
      () => orRefuse(this.#options.cellChanges.add(address)),
      (name) => `cell ${name}`,
    );
    return { object: 'cell', cell, change: 'added' };
  }

  async drain(cell: string, asker: Asker): Promise<ChangedCell> {
    await this.#perform('cell.drain', cell, asker, () => this.#options.cellChanges.drain(cell));
    return { object: 'cell', cell, change: 'drained' };
  }

  async open(cell: string, asker: Asker): Promise<ChangedCell> {
    await this.#perform('cell.open', cell, asker, () => this.#options.cellChanges.open(cell));
    return { object: 'cell', cell, change: 'opened' };
  }

  async remove(cell: string, asker: Asker): Promise<ChangedCell> {
    await this.#perform('cell.remove', cell, asker, () => this.#options.cellChanges.remove(cell));
    return { object: 'cell', cell, change: 'removed' };
  }

  async #perform(
    action: 'cell.drain' | 'cell.open' | 'cell.remove',
    target: string,
    asker: Asker,
    step: () => Promise<void>,
  ): Promise<void> {
    await this.#options.audit.perform({ action, target, ...asker }, () => orRefuse(step()));
  }
}
