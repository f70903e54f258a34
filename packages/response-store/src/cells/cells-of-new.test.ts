import { newResponseId } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { homeCell, preferredCells } from '../record/cells.ts';
import { responseOfKey } from './cells-of-new.ts';
import { type NotedCellCount, TenantCells } from './tenant-cells.ts';

const open = ['0', 'E', 's'];
const tenant = 'team';
const idempotencyKey = 'key-1';
const [home = '', second = '', third = ''] = preferredCells(tenant, open);
const previousOf = (cell: string) => newResponseId((size) => Buffer.alloc(size), cell);

/** Cells of which these have an answer to what a key stands for: an id, or none. The others are away. */
function askedFor(
  there: Readonly<Record<string, string | undefined>>,
  { previousId, notes = [] }: { previousId?: string; notes?: NotedCellCount[] } = {},
): Promise<string | undefined> {
  const stores = new Map(
    open.map((cell) => [
      cell,
      {
        responseOfKey: () =>
          cell in there ? Promise.resolve(there[cell]) : Promise.reject(new Error(`${cell} is away`)),
      },
    ]),
  );
  const note = () => Promise.reject(new Error('nothing is to be noted'));
  const tenantCells = new TenantCells({
    open,
    former: () => [],
    areFormerKnown: () => true,
    cellCounts: { of: () => notes, note, keyMs: 1_000 },
  });
  return responseOfKey(tenant, { previousId, idempotencyKey }, { stores, tenantCells });
}

describe('the response of an Idempotency-Key', () => {
  it('is found, or is not there, while a cell is away in which it cannot be', async () => {
    expect(await askedFor({ [home]: 'resp_1' })).toBe('resp_1');
    expect(await askedFor({ [home]: undefined })).toBeUndefined();
  });

  it('is not known while a cell is away in which it may be', async () => {
    await expect(askedFor({ [second]: undefined, [third]: undefined })).rejects.toThrow(`${home} is away`);
  });

  it('is looked for where it was before its tenant had several cells', async () => {
    expect(homeCell(`${tenant}:${idempotencyKey}`, [home, second])).toBe(second);
    const notes = [{ cells: 2, holdsSinceMs: 10 }];
    expect(await askedFor({ [home]: 'resp_1' }, { notes })).toBe('resp_1');
    expect(await askedFor({ [home]: undefined, [second]: 'resp_2' }, { notes })).toBe('resp_2');
    await expect(askedFor({ [home]: undefined }, { notes })).rejects.toThrow(`${second} is away`);
    await expect(askedFor({ [second]: undefined }, { notes })).rejects.toThrow(`${home} is away`);
  });

  it('is in the cell of the response that its own continues', async () => {
    const previousId = previousOf(third);
    expect(await askedFor({ [third]: 'resp_1' }, { previousId })).toBe('resp_1');
    await expect(askedFor({ [home]: undefined }, { previousId })).rejects.toThrow(`${third} is away`);
  });
});
