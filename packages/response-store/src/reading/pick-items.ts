import { inputItemId, type InputItem, listedItem, outputAsInput, type ToolItem } from '@sluice/contract';
import { toolLinkOf } from '../prepared-request.ts';
import { parseEnd } from '../record/end-json.ts';
import { parseInput, textOf } from '../record/large-value.ts';

/** The JSON of a part of a response, as `readItemPart` gives it. */
export interface PartJson {
  responseId: string;
  isInput: boolean;
  json: string | Uint8Array<ArrayBuffer>;
}

/** An item of a part. A thread sends a long one as bytes. */
export interface PickedItem {
  id: string;
  json: string | Uint8Array<ArrayBuffer>;
  /** The tool call that it belongs to, when it is a call or the output of one. */
  link: ToolItem | undefined;
}

/** The items of an input that are on a page. */
export interface InputPage {
  /** The id behind which it begins; undefined begins at the first. */
  after?: string | undefined;
  limit: number;
  order: 'asc' | 'desc';
}

export interface PickedPage {
  items: PickedItem[];
  hasMore: boolean;
}

/** The items of a part with these ids, as a later request may hold them; fewer when some are not in it. */
export function pickItems(part: PartJson, itemIds: readonly string[]): PickedItem[] {
  const wanted = new Set(itemIds);
  const found: PickedItem[] = [];
  for (const [id, item] of itemsOf(part)) {
    if (!wanted.has(id)) continue;
    found.push({ id, json: JSON.stringify(item), link: toolLinkOf(item) });
  }
  return found;
}

/** A page of an input, as it is listed; undefined when `after` names no item of it. */
export function pickPage(part: PartJson, { after, limit, order }: InputPage): PickedPage | undefined {
  const all = itemsOf(part);
  const inOrder = order === 'desc' ? all.toReversed() : all;
  const first = after === undefined ? 0 : inOrder.findIndex(([id]) => id === after) + 1;
  if (first === 0 && after !== undefined) return undefined;
  const items = inOrder.slice(first, first + limit).map(([id, item, at]): PickedItem => {
    const json = JSON.stringify(listedItem(item, part.responseId, at));
    return { id, json, link: undefined };
  });
  return { items, hasMore: first + limit < all.length };
}

/** The user's messages of an input, as they are listed, but for its last `without` items. */
export function pickUserMessages(part: PartJson, { without }: { without: number }): PickedItem[] {
  const all = itemsOf(part);
  return all.slice(0, all.length - without).flatMap(([id, item, at]): PickedItem[] => {
    if (item.type !== 'message' || item.role !== 'user') return [];
    return [{ id, json: JSON.stringify(listedItem(item, part.responseId, at)), link: undefined }];
  });
}

/** Every item with its id and its place. */
function itemsOf({ responseId, isInput, json }: PartJson): [id: string, item: InputItem, at: number][] {
  if (isInput) {
    return parseInput(json).map((item, at) => [inputItemId(item.type, responseId, at), item, at]);
  }
  return parseEnd(textOf(json)).end.output.map((item, at) => [item.id, outputAsInput(item), at]);
}
