import { inputItemId, type InputItem, responseIdOfItem } from '@sluice/contract';
import type { LargeAccess } from '../record/store-access.ts';
import { readTurnInput, readTurnOutput } from './read-turn.ts';
import { type Turn, walk } from './walk.ts';

/** How the position of an input item is written at the end of its id; see `inputItemId`. */
const positionOfInput = /^\d{5}$/;

/** Most responses looked at at once. */
const looksAtOnce = 32;

export interface ItemLimits {
  /** Most bytes that are read, and that the items take together, each counted as often as it is referred to. */
  bytes: number;
  /** Most responses that the items may belong to. */
  responses: number;
}

export interface FoundItem {
  item: InputItem;
  json: string;
}

export type FoundItems =
  /** By their ids. */
  | { kind: 'found'; items: Map<string, FoundItem> }
  | { kind: 'not_found'; itemId: string }
  | { kind: 'too_many_responses' | 'too_large' };

/** The part of a response that an item is in. */
interface Part {
  responseId: string;
  isInput: boolean;
  itemIds: string[];
}

/**
 * Finds items of a tenant's stored responses by their ids; an id may come several times.
 *
 * How long the parts are that hold the items is known before any of them is read, and each is read once. An item of
 * another tenant costs and says the same as one that never was.
 */
export async function findItems(
  access: LargeAccess,
  { itemIds, tenant }: { itemIds: readonly string[]; tenant: string },
  limits: ItemLimits,
): Promise<FoundItems> {
  const parts = partsOf(itemIds);
  const responseIds = [...new Set(parts.map(({ responseId }) => responseId))];
  if (responseIds.length > limits.responses) return { kind: 'too_many_responses' };
  const turns = await lookAt(access, responseIds, tenant);
  const unknown = parts.find(({ responseId }) => !turns.has(responseId));
  if (unknown) return { kind: 'not_found', itemId: unknown.itemIds[0] ?? '' };
  const toRead = parts.map((part) => bytesOf(part, turns)).reduce((sum, bytes) => sum + bytes, 0);
  if (toRead > limits.bytes) return { kind: 'too_large' };

  const items = new Map<string, FoundItem>();
  for (const part of parts) {
    const found = await readPart(access, part, turns);
    const missing = part.itemIds.find((id) => !found.has(id));
    if (missing !== undefined) return { kind: 'not_found', itemId: missing };
    for (const [id, item] of found) items.set(id, { item, json: JSON.stringify(item) });
  }
  return takeTooMuch(itemIds, items, limits.bytes) ? { kind: 'too_large' } : { kind: 'found', items };
}

function partsOf(itemIds: readonly string[]): Part[] {
  const parts = new Map<string, Part>();
  for (const itemId of new Set(itemIds)) {
    const responseId = responseIdOfItem(itemId) ?? '';
    const isInput = positionOfInput.test(itemId.slice(itemId.indexOf('_') + 33));
    const name = `${responseId} ${isInput}`;
    const part = parts.get(name) ?? { responseId, isInput, itemIds: [] };
    part.itemIds.push(itemId);
    parts.set(name, part);
  }
  return [...parts.values()];
}

/** Those of the responses that are this tenant's and stored. */
async function lookAt(
  access: LargeAccess,
  responseIds: readonly string[],
  tenant: string,
): Promise<Map<string, Turn>> {
  const turns = new Map<string, Turn>();
  for (let at = 0; at < responseIds.length; at += looksAtOnce) {
    const batch = responseIds.slice(at, at + looksAtOnce);
    const walks = await Promise.all(
      batch.map((responseId) => walk(access, { responseId, tenant, count: 1 })),
    );
    for (const turn of walks.flatMap((each) => each.turns)) turns.set(turn.responseId, turn);
  }
  return turns;
}

function bytesOf({ responseId, isInput }: Part, turns: ReadonlyMap<string, Turn>): number {
  const turn = turns.get(responseId);
  return (isInput ? turn?.inputBytes : turn?.endBytes) ?? 0;
}

/** The items of a part that are there, by their ids. */
async function readPart(
  access: LargeAccess,
  { responseId, isInput, itemIds }: Part,
  turns: ReadonlyMap<string, Turn>,
): Promise<Map<string, InputItem>> {
  const turn = turns.get(responseId);
  const all = turn && (await (isInput ? readTurnInput(access, turn) : readTurnOutput(access, turn)));
  const wanted = new Set(itemIds);
  const found = new Map<string, InputItem>();
  for (const [index, item] of (all ?? []).entries()) {
    const id = isInput ? inputItemId(item.type, responseId, index) : item.id;
    if (typeof id === 'string' && wanted.has(id)) found.set(id, item);
  }
  return found;
}

/** Whether the items are too long together: a short reference can stand for a long item, and be sent many times. */
function takeTooMuch(
  itemIds: readonly string[],
  items: ReadonlyMap<string, FoundItem>,
  mostBytes: number,
): boolean {
  const sizes = new Map<string, number>();
  for (const [id, { json }] of items) sizes.set(id, Buffer.byteLength(json));
  let bytes = 0;
  for (const id of itemIds) bytes += sizes.get(id) ?? 0;
  return bytes > mostBytes;
}
