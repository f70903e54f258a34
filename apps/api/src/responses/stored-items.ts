import { ServiceError } from '@sluice/contract';
import {
  type InputPage,
  type ItemLimits,
  type ItemPart,
  type LocatedItems,
  type PickedItem,
  type PickedPage,
} from '@sluice/response-store';
import { responseNotFound } from './refusals.ts';
import type { ResponsesDependencies } from './dependencies.ts';

/** Holds memory for so many bytes more on behalf of a caller. Throws a {@link ServiceError} when there is too little. */
export type Reserve = (bytes: number) => void;

export type FoundItems =
  /** By their ids. */
  { kind: 'found'; items: Map<string, PickedItem> } | Exclude<LocatedItems, { kind: 'located' }>;

/**
 * Items of a tenant's stored responses.
 *
 * A few bytes of a request can ask for all of what a large one has stored. So it is known how long that is before any of it
 * is read, memory for it is reserved in the tenant's name, and a thread takes it apart.
 */
export class StoredItems {
  readonly #dependencies: Pick<ResponsesDependencies, 'store' | 'json'>;

  constructor(dependencies: Pick<ResponsesDependencies, 'store' | 'json'>) {
    this.#dependencies = dependencies;
  }

  /** Finds items by their ids, which may come several times. Each part of a response is read once. */
  async find(
    tenant: string,
    itemIds: readonly string[],
    { limits, reserve }: { limits: ItemLimits; reserve: Reserve },
  ): Promise<FoundItems> {
    const { store, json } = this.#dependencies;
    const located = await store.locateItems(tenant, itemIds, limits);
    if (located.kind !== 'located') return located;
    reserve(located.parts.reduce((sum, { bytes }) => sum + bytes, 0));
    const items = new Map<string, PickedItem>();
    for (const part of located.parts) {
      const read = await this.#read(part);
      for (const item of read ? await json.pickItems(tenant, read, part.itemIds) : [])
        items.set(item.id, item);
      const missing = part.itemIds.find((id) => !items.has(id));
      if (missing !== undefined) return { kind: 'not_found', itemId: missing };
    }
    return takeTooMuch(itemIds, items, limits.bytes) ? { kind: 'too_large' } : { kind: 'found', items };
  }

  /** A page of the input of a response itself, without what it continued from. */
  async page(
    tenant: string,
    responseId: string,
    { reserve, ...page }: InputPage & { reserve: Reserve },
  ): Promise<PickedPage> {
    const { store, json } = this.#dependencies;
    const part = await store.locateInput(tenant, responseId);
    if (!part) throw responseNotFound();
    reserve(part.bytes);
    const read = (await this.#read(part)) ?? { responseId, isInput: true, json: '[]' };
    const picked = await json.pickPage(tenant, read, page);
    if (picked) return picked;
    throw new ServiceError('invalid_value', "'after' names no item of this response.", { param: 'after' });
  }

  async #read(part: ItemPart) {
    const json = await this.#dependencies.store.readItemPart(part);
    const { turn, isInput } = part;
    return json === undefined ? undefined : { responseId: turn.responseId, isInput, json };
  }
}

/** Whether the items are too long together: a short reference can stand for a long item, and be sent many times. */
function takeTooMuch(
  itemIds: readonly string[],
  items: ReadonlyMap<string, PickedItem>,
  mostBytes: number,
): boolean {
  const sizes = new Map<string, number>();
  for (const [id, { json }] of items) sizes.set(id, Buffer.byteLength(json));
  return itemIds.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0) > mostBytes;
}
