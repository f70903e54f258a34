import type { CallerStore, PlaceOfNew } from '../caller-store.ts';
import { type Cell, cellOf } from '../record/cells.ts';
import type { TenantCells } from './tenant-cells.ts';

interface CellsOfKeys {
  stores: ReadonlyMap<Cell, Pick<CallerStore, 'responseOfKey'>>;
  tenantCells: TenantCells;
}

/**
 * The cells in which a new response of a tenant may be, in the order in which it asks for room. A conversation stays in its cell, and a request
 * that is sent again goes to the cell that has what it began.
 */
export async function cellsOfNew(
  tenant: string,
  { previousId, idempotencyKey, limits }: PlaceOfNew,
  { stores, tenantCells }: CellsOfKeys,
): Promise<Cell[]> {
  const before = cellOfPrevious(previousId, stores);
  if (before !== undefined) return [before];
  if (idempotencyKey === undefined) return tenantCells.inTurn(tenant, limits);
  const { cell, former } = await tenantCells.ofKey(tenant, idempotencyKey, limits);
  for (const each of former) if (await stores.get(each)?.responseOfKey(tenant, idempotencyKey)) return [each];
  return [cell];
}

/** The response that an Idempotency-Key of a tenant stands for, in the cells where `cellsOfNew` may have put it. */
export async function responseOfKey(
  tenant: string,
  { previousId, idempotencyKey }: { previousId: string | undefined; idempotencyKey: string },
  { stores, tenantCells }: CellsOfKeys,
): Promise<string | undefined> {
  const before = cellOfPrevious(previousId, stores);
  const cells = before === undefined ? tenantCells.allOfKey(tenant, idempotencyKey) : [before];
  for (const cell of cells) {
    const id = await stores.get(cell)?.responseOfKey(tenant, idempotencyKey);
    if (id !== undefined) return id;
  }
  return undefined;
}

function cellOfPrevious(
  previousId: string | null | undefined,
  stores: CellsOfKeys['stores'],
): Cell | undefined {
  const cell = previousId ? cellOf(previousId) : undefined;
  return cell !== undefined && stores.has(cell) ? cell : undefined;
}
