import { describe, expect, it } from 'vitest';
import { homeCell, preferredCells } from '../record/cells.ts';
import { type NotedCellCount, TenantCells } from './tenant-cells.ts';

const open = ['0', 'E', 's'];
const tenant = 'team';
const [home = '', second = '', third = ''] = preferredCells(tenant, open);
const keyMs = 86_400_000;
const longAgo = 2 * keyMs;

/** The cells of a tenant at a time that the test sets, with notes that it writes. */
function cellsOf({
  notes = [],
  former = [],
  areFormerKnown = true,
}: {
  notes?: NotedCellCount[];
  former?: string[][];
  areFormerKnown?: boolean;
} = {}) {
  const clock = { now: 1_000 };
  const written: number[] = [];
  const cellCounts = {
    of: () => notes,
    note: async (_tenant: string, cells: number) => {
      written.push(cells);
      if (!notes.some((note) => note.cells === cells)) notes.push({ cells, holdsSinceMs: -10_000 });
    },
    keyMs,
  };
  const inUse = { open, former: () => former, areFormerKnown: () => areFormerKnown, cellCounts };
  const cells = new TenantCells(inUse, () => clock.now);
  return { cells, clock, notes, written };
}

describe('a new response', () => {
  it('goes to the home of its tenant, or to each of its cells in turn', () => {
    const { cells } = cellsOf();
    expect(cells.inTurn(tenant, {})).toEqual([home]);
    const firsts = Array.from({ length: 6 }, () => cells.inTurn(tenant, { cells: 3 })[0]);
    expect(firsts).toEqual([home, second, third, home, second, third]);
    expect(cells.inTurn(tenant, { cells: 2 })).toEqual([second, home]);
  });

  it('leaves out a cell that did not answer or has no requests left, until it may have some', () => {
    const { cells, clock } = cellsOf();
    cells.notAnswered(home);
    cells.usedUp(second, tenant, 30_000);
    expect(cells.inTurn(tenant, { cells: 3 })).toEqual([third]);
    expect(cells.inTurn('other', { cells: 3 })).toHaveLength(2);
    cells.usedUp(third, tenant, 50_000);
    clock.now += 1_001;
    expect(cells.inTurn(tenant, { cells: 3 })).toEqual([home]);
  });

  it('asks where there is room first when there is none anywhere', () => {
    const { cells } = cellsOf();
    for (const [cell, forMs] of [
      [home, 9_000],
      [second, 4_000],
      [third, 6_000],
    ] as const)
      cells.usedUp(cell, tenant, forMs);
    expect(cells.inTurn(tenant, { cells: 3 })).toEqual([second]);
  });

  it('has the part of the limits of its cell, and the smallest in a former cell of its conversation', () => {
    const { cells } = cellsOf();
    expect(cells.partIn(second, tenant, { cells: 2 })).toEqual({ at: 1, of: 2 });
    expect(cells.partIn(third, tenant, { cells: 2 })).toEqual({ at: 1, of: 2 });
    expect(cells.partIn(third, tenant, {})).toEqual({ at: 0, of: 1 });
  });
});

describe('an Idempotency-Key', () => {
  const keys = Array.from({ length: 30 }, (_key, at) => `key-${at}`);
  const cellIn = (key: string, count: number) =>
    count === 1 ? home : homeCell(`${tenant}:${key}`, preferredCells(tenant, open).slice(0, count));

  it('is in the home of a tenant that was always in one cell, and nobody notes it', async () => {
    const { cells, written } = cellsOf();
    for (const key of keys) expect(await cells.ofKey(tenant, key, {})).toEqual({ cell: home, former: [] });
    expect(written).toEqual([]);
  });

  it('is refused while nobody knows where it was', async () => {
    const { cells } = cellsOf({ areFormerKnown: false });
    await expect(cells.ofKey(tenant, 'key', {})).rejects.toMatchObject({ code: 'server_is_overloaded' });
  });

  it('is always in the same of several cells', async () => {
    const notes = [{ cells: 3, holdsSinceMs: longAgo }];
    const { cells } = cellsOf({ notes });
    for (const key of keys)
      expect(await cells.ofKey(tenant, key, { cells: 3 })).toEqual({ cell: cellIn(key, 3), former: [] });
    expect(new Set(keys.map((key) => cellIn(key, 3)))).toEqual(new Set(open));
  });

  it('goes by what is noted, whatever the settings of a process say, and is looked for by every other number', async () => {
    for (const [before, after] of [
      [1, 3],
      [3, 1],
      [2, 3],
    ] as const) {
      const noted = before === 1 ? [] : [{ cells: before, holdsSinceMs: longAgo }];
      for (const holdsSinceMs of [-10_000, -1, 0, 10_000]) {
        const notes = [...noted, { cells: after, holdsSinceMs }];
        const holding = holdsSinceMs < 0 ? before : after;
        const otherwise = holdsSinceMs < 0 ? after : before;
        for (const key of keys) {
          // One process has the new settings already, the other one has not.
          const found = await Promise.all(
            [before, after].map((own) =>
              cellsOf({ notes: [...notes] }).cells.ofKey(tenant, key, { cells: own }),
            ),
          );
          for (const { cell, former } of found) {
            expect(cell).toBe(cellIn(key, holding));
            expect([cell, ...former]).toContain(cellIn(key, otherwise));
          }
        }
      }
    }
  });

  it('is looked for where the tenant was when other cells were open', async () => {
    const notes = [{ cells: 2, holdsSinceMs: longAgo }];
    const { cells } = cellsOf({ notes, former: [['0', 'q']] });
    const key = 'key-1';
    const before = homeCell(`${tenant}:${key}`, preferredCells(tenant, ['0', 'q']));
    const { cell, former } = await cells.ofKey(tenant, key, { cells: 2 });
    expect([cell, ...former]).toContain(before);
  });
});
