import type { CellRow } from '@sluice/contract/admin';
import type { CallerStores } from '@sluice/response-store';
import { isRedisUnavailable, maskRedisUrl, usedMemoryOf } from '@sluice/runtime';
import type { Redis } from 'ioredis';

/** A cell as a process is connected with it. */
export interface ShownCell {
  name: string;
  url: string;
  clients: { commands: Pick<Redis, 'zcard' | 'info'> };
}

/** The cells of a service, as its processes know them. */
export interface CellsInEffect {
  cells: { all: readonly ShownCell[] };
  states: { of: (cell: string) => 'open' | 'opening' | 'draining' | 'joining' };
  /** The cells in which responses may be. */
  known: { read: () => Promise<readonly { name: string; goneAt: number }[]> };
  /** Those that operators have added or changed. */
  storedCells: { read: () => Promise<{ cells: ReadonlyMap<string, { url?: string }> }> };
  /** The processes that are alive, and the cells that they have reached. */
  cellProcesses: {
    read: () => Promise<readonly { role: string; host: string; pid: number; cells: readonly string[] }[]>;
  };
  store: Pick<CallerStores, 'keys' | 'waiting'>;
}

/** The cells of a service, the first one first. One that does not answer is `away`. */
export async function cellRows(inEffect: CellsInEffect): Promise<CellRow[]> {
  const { cells, known, storedCells, cellProcesses } = inEffect;
  const [noted, stored, processes] = await Promise.all([
    known.read(),
    storedCells.read(),
    cellProcesses.read(),
  ]);
  const mayGoAt = (name: string) => {
    const at = noted.find((each) => each.name === name)?.goneAt;
    return at === undefined ? null : new Date(at).toISOString();
  };
  const rows = cells.all.map(async (cell): Promise<CellRow> => {
    const { name } = cell;
    const state = inEffect.states.of(name);
    const waitsFor = processes.filter((each) => !each.cells.includes(name));
    return {
      cell: name,
      address: maskRedisUrl(cell.url),
      origin: stored.cells.get(name)?.url === undefined ? 'settings' : 'stored',
      may_go_at: state === 'draining' ? mayGoAt(name) : null,
      waits_for: state === 'joining' ? waitsFor.map(nameOf) : [],
      ...(await figuresOf(cell, { state, store: inEffect.store })),
    };
  });
  const unnamed = noted.filter(({ name }) => cells.all.every((cell) => cell.name !== name));
  return [
    ...(await Promise.all(rows)),
    ...unnamed.map(
      ({ name }): CellRow => ({
        cell: name,
        address: null,
        origin: null,
        may_go_at: mayGoAt(name),
        waits_for: [],
        ...unanswered,
        state: 'unknown',
      }),
    ),
  ];
}

const unanswered = { open: null, waiting: null, used_memory_bytes: null };

async function figuresOf(
  { name, clients: { commands } }: ShownCell,
  { state, store }: Pick<CellsInEffect, 'store'> & { state: CellRow['state'] },
): Promise<Pick<CellRow, 'state' | keyof typeof unanswered>> {
  try {
    const [open, { all }, memory] = await Promise.all([
      commands.zcard(store.keys.inCell(name).open),
      store.waiting(name),
      commands.info('memory'),
    ]);
    return { state, open, waiting: all.responses, used_memory_bytes: usedMemoryOf(memory).usedBytes };
  } catch (error) {
    if (!isRedisUnavailable(error)) throw error;
    return { ...unanswered, state: 'away' };
  }
}

function nameOf({ role, host, pid }: { role: string; host: string; pid: number }): string {
  return `${role} ${pid} on ${host}`;
}
