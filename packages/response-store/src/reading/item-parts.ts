import { isKeptAfterEnd, isTerminal, responseIdOfItem } from '@sluice/contract';
import { parseFields, recordVersion, storedNames } from '../record/fields.ts';
import { UnknownVersion } from '../record/record.ts';
import { keysOf, type LargeAccess } from '../record/store-access.ts';
import { readInputJson, readOutputJson } from './read-turn.ts';
import { type Turn, walk } from './walk.ts';

/** How the position of an input item is written at the end of its id; see `inputItemId`. */
const positionOfInput = /^\d{5}$/;

/** Most responses looked at at once. */
const looksAtOnce = 32;

export interface ItemLimits {
  /** Most bytes that the parts may be together. */
  bytes: number;
  /** Most responses that the items may belong to. */
  responses: number;
}

/** The part of a stored response that items are in: its own input, or its output. */
export interface ItemPart {
  turn: Turn;
  isInput: boolean;
  /** How long its JSON is. */
  bytes: number;
}

export type LocatedItems =
  /** The parts that they would have to be in, and which of them in each. */
  | { kind: 'located'; parts: (ItemPart & { itemIds: string[] })[] }
  | { kind: 'not_found'; itemId: string }
  | { kind: 'too_many_responses' | 'too_large' };

/**
 * Looks where items of a tenant's stored responses are, by their ids, and reads none of them; an id may come several
 * times. An item of another tenant costs and says the same as one that never was.
 */
export async function locateItems(
  access: LargeAccess,
  { itemIds, tenant }: { itemIds: readonly string[]; tenant: string },
  limits: ItemLimits,
): Promise<LocatedItems> {
  const places = placesOf(itemIds);
  const responseIds = [...new Set(places.map(({ responseId }) => responseId))];
  if (responseIds.length > limits.responses) return { kind: 'too_many_responses' };
  const turns = await lookAt(access, responseIds, tenant);
  const parts: (ItemPart & { itemIds: string[] })[] = [];
  for (const { responseId, isInput, itemIds: ofPart } of places) {
    const turn = turns.get(responseId);
    if (!turn) return { kind: 'not_found', itemId: ofPart[0] ?? '' };
    parts.push({ turn, isInput, bytes: isInput ? turn.inputBytes : turn.endBytes, itemIds: ofPart });
  }
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return bytes > limits.bytes ? { kind: 'too_large' } : { kind: 'located', parts };
}

/**
 * The own input of a response, unless it is unknown, another tenant's, or has ended and was not to be kept. `isOwn`: the one who
 * asks has created it and has not left it, and may read it nevertheless.
 *
 * @throws {UnknownVersion} for one that another release wrote.
 */
export async function locateInput(
  access: LargeAccess,
  responseId: string,
  { tenant, isOwn = false }: { tenant: string; isOwn?: boolean },
): Promise<ItemPart | undefined> {
  const { record } = keysOf(access, responseId);
  const names = [
    'version',
    'tenant',
    'status',
    'stored',
    'background',
    'large_bytes',
    'request_ahead',
  ] as const;
  const [values, inline] = await Promise.all([
    access.redis.hmget(record, ...storedNames(names)),
    access.redis.hstrlen(record, 'input'),
  ]);
  const fields = parseFields(names, values);
  const { status, large_bytes: largeBytes = 0, request_ahead: requestAhead = 0 } = fields;
  if (status === undefined) return undefined;
  if (fields.version !== recordVersion) throw new UnknownVersion(fields.version);
  if (fields.tenant !== tenant) return undefined;
  const isKept = isKeptAfterEnd({ store: fields.stored === true, background: fields.background });
  if (!isKept && !isOwn && isTerminal(status)) return undefined;
  const inputBytes = inline + largeBytes - requestAhead;
  return {
    turn: { responseId, inputBytes, largeBytes, requestAhead, endBytes: 0 },
    isInput: true,
    bytes: inputBytes,
  };
}

/** The JSON of a part: a text, or the bytes of a large one; undefined when it is gone by now. */
export function readItemPart(
  access: LargeAccess,
  { turn, isInput }: ItemPart,
): Promise<string | Uint8Array<ArrayBuffer> | undefined> {
  return isInput ? readInputJson(access, turn) : readOutputJson(access, turn);
}

function placesOf(itemIds: readonly string[]): { responseId: string; isInput: boolean; itemIds: string[] }[] {
  const places = new Map<string, { responseId: string; isInput: boolean; itemIds: string[] }>();
  for (const itemId of new Set(itemIds)) {
    const responseId = responseIdOfItem(itemId) ?? '';
    const isInput = positionOfInput.test(itemId.slice(itemId.indexOf('_') + 33));
    const name = `${responseId} ${isInput}`;
    const place = places.get(name) ?? { responseId, isInput, itemIds: [] };
    place.itemIds.push(itemId);
    places.set(name, place);
  }
  return [...places.values()];
}

/** Finds the responses that are this tenant's and stored. */
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
