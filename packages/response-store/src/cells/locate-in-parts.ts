import { responseIdOfItem } from '@sluice/contract';
import type { CallerStore } from '../caller-store.ts';
import type { ItemLimits, LocatedItems } from '../reading/item-parts.ts';

/** Looks where items of a tenant are that may belong to responses of several cells; see `CallerStore.locateItems`. */
export async function locateInParts(
  of: (responseId: string) => CallerStore,
  { tenant, itemIds }: { tenant: string; itemIds: readonly string[] },
  limits: ItemLimits,
): Promise<LocatedItems> {
  const byStore = Map.groupBy(itemIds, (itemId) => of(responseIdOfItem(itemId) ?? ''));
  const located = await Promise.all(
    [...byStore].map(([store, ids]) => store.locateItems(tenant, ids, limits)),
  );
  const parts = [];
  for (const each of located) {
    if (each.kind !== 'located') return each;
    parts.push(...each.parts);
  }
  const responses = new Set(parts.map(({ turn }) => turn.responseId));
  if (responses.size > limits.responses) return { kind: 'too_many_responses' };
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return bytes > limits.bytes ? { kind: 'too_large' } : { kind: 'located', parts };
}
