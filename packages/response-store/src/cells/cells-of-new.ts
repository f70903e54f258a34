import type { CallerStore, PlaceOfNew } from '../caller-store.ts';
import { type Cell, cellOf } from '../record/cells.ts';
import type { TenantCells } from './tenant-cells.ts';

/**
 * The cells in which a new response of a tenant may be, in the order in which it asks for room. A conversation stays in its cell, and a request
 * that is sent again goes to the cell that has what it began.
 */
export async function cellsOfNew(
  tenant: string,
  { previousId, idempotencyKey, limits }: PlaceOfNew,
  {
    stores,
    tenantCells,
  }: { stores: ReadonlyMap<Cell, Pick<CallerStore, 'responseOfKey'>>; tenantCells: TenantCells },
): Promise<Cell[]> {
  const before = previousId ? cellOf(previousId) : undefined;
  if (before !== undefined && stores.has(before)) return [before];
  if (idempotencyKey === undefined) return tenantCells.inTurn(tenant, limits);
  const { cell, former } = await tenantCells.ofKey(tenant, idempotencyKey, limits);
  for (const each of former) if (await stores.get(each)?.responseOfKey(tenant, idempotencyKey)) return [each];
  return [cell];
}
