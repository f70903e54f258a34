import { type Cells, type CellsInUse, LiveCells } from '@sluice/response-store';
import type { Logger, RedisCell, RedisClock } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import type { ConnectedSettings } from '../roles.ts';
import { CellChanges } from './cell-changes.ts';
import { CellProcesses } from './cell-processes.ts';
import { CellStates } from './cell-states.ts';
import { CellWatch, type CellWatchOptions } from './cell-watch.ts';
import { KnownCells } from './known-cells.ts';
import { StoredCellCounts } from './stored-cell-counts.ts';
import { StoredCells } from './stored-cells.ts';

/** The cells that a service has, as one of its processes sees them. All of it is kept in the first cell. */
export interface CellTopology<Cell extends { name: string }> {
  cells: Cells<Cell>;
  /** Says which of them take new responses. */
  states: CellStates;
  /** Those that there are and were. */
  known: KnownCells;
  /** Those that operators have added, drained and opened. */
  storedCells: StoredCells;
  cellChanges: CellChanges;
  cellProcesses: CellProcesses;
  /** How many cells tenants were divided among. */
  cellCounts: StoredCellCounts;
  /** Follows the changes. */
  cellWatch: Pick<CellWatch<Cell>, 'start' | 'look' | 'stop' | 'isCurrent' | 'knowsAll'>;
}

interface TopologyOptions<Cell extends TopologyCell>
  extends Pick<CellWatchOptions<Cell>, 'connect' | 'start' | 'stop' | 'role'> {
  settings: ConnectedSettings;
  /** The cells of REDIS_URL, and those that are connected with them. */
  found: readonly RedisCell[];
  first: Cell;
  others: readonly Cell[];
  logger: Logger;
}

interface TopologyCell {
  name: string;
  clients: { commands: Redis };
  clock: RedisClock;
  keyPrefix: string;
}

export function cellTopology<Cell extends TopologyCell>({
  settings,
  found,
  first,
  others,
  logger,
  ...joining
}: TopologyOptions<Cell>): CellTopology<Cell> {
  const cells = new LiveCells(first, others);
  const { clients, clock, keyPrefix } = first;
  const inFirst = { connection: clients.commands, keyPrefix };
  const now = () => clock.now();
  const states = new CellStates(found, now);
  const known = new KnownCells({
    ...inFirst,
    cells: {
      names: () => cells.all.map(({ name }) => name),
      open: () => states.open,
      coming: () => states.coming,
    },
    settings,
    logger,
  });
  const storedCells = new StoredCells(inFirst);
  const cellProcesses = new CellProcesses({ ...inFirst, now });
  const cellWatch = new CellWatch<Cell>({
    ...joining,
    cells,
    states,
    stored: storedCells,
    known,
    processes: cellProcesses,
    now,
    logger,
  });
  const cellChanges = new CellChanges({
    stored: storedCells,
    known,
    configured: found,
    durability: settings.durability,
    now,
    follow: () => cellWatch.look(),
    logger,
  });
  const cellCounts = new StoredCellCounts({ ...inFirst, settings, logger });
  return { cells, states, known, storedCells, cellChanges, cellProcesses, cellCounts, cellWatch };
}

/** The same, as the stores of all cells see it. */
export function cellsInUse({
  states,
  known,
  cellCounts,
  cellWatch,
}: CellTopology<{ name: string }>): CellsInUse {
  return {
    get open() {
      return states.open;
    },
    former: () => known.former,
    knowsAll: () => cellWatch.knowsAll,
    isJoining: (cell) => states.of(cell) === 'joining',
    areFormerKnown: () => known.isKnown && cellCounts.isKnown && cellWatch.isCurrent,
    cellCounts,
    onUse: (cell) => known.use(cell),
  };
}
