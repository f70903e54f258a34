import { isObject, type JsonObject, listOf, objectOf, textOf } from '../json-fields.ts';

export type CallKind = 'function_call' | 'custom_tool_call';
export type ItemKind = 'message' | 'reasoning' | CallKind;
export type PieceKind = 'text' | 'refusal' | 'reasoning_summary' | 'reasoning_text';

/** An item of a Responses stream, and what was read of it. */
export interface StreamedItem {
  readonly kind: ItemKind;
  /** Its place among the items in the order in which they came. */
  readonly place: number;
  phase: 'commentary' | 'final_answer' | undefined;
  /** Whether the chunk that separates it from the item before was sent. */
  isBegun: boolean;
  /** The parts that were read. Their closing events repeat the text and are skipped. */
  readonly parts: Set<string>;
  /** All that was read of each kind. */
  readonly said: Map<PieceKind, string>;
  /** The kinds of which a piece was read and no closing event since. */
  readonly unclosed: Set<PieceKind>;
  hasCallText: boolean;
  hasOpaque: boolean;
}

/**
 * The items of one Responses stream, found by what an event says of its item.
 *
 * Servers number items in their own ways: vLLM counts from 1 and closes an item under the number of the next one, and others
 * give an id alone. So the number decides for pieces, the id for what closes an item, and the order for the last event.
 */
export class StreamedItems {
  readonly #byIndex = new Map<number, StreamedItem>();
  readonly #byId = new Map<string, StreamedItem>();
  readonly #byKind = new Map<ItemKind, StreamedItem[]>();
  #last: StreamedItem | undefined;

  get last(): StreamedItem | undefined {
    return this.#last;
  }

  /** The item that an event adds again; undefined for a new one. */
  announcedBy(event: JsonObject): StreamedItem | undefined {
    const index = indexOf(event);
    if (index !== undefined) return this.#byIndex.get(index);
    return this.#named(event);
  }

  /** The item that a piece belongs to, which is of another kind if the event contradicts earlier ones; undefined for a new item. */
  ofPiece(event: JsonObject, kinds: readonly ItemKind[]): StreamedItem | undefined {
    const index = indexOf(event);
    const isKind = (item: StreamedItem | undefined) => (item && kinds.includes(item.kind) ? item : undefined);
    const found =
      index !== undefined
        ? this.#byIndex.get(index)
        : isKind(idsOf(event).length > 0 ? this.#named(event) : this.#last);
    if (found && kinds.includes(found.kind)) this.#name(found, event);
    return found;
  }

  /** The item of this kind that an event closes, or a part of it; undefined for one that was not streamed. */
  closedBy(event: JsonObject, kind: ItemKind): StreamedItem | undefined {
    const named = this.#named(event, kind);
    if (named) return named;
    const index = indexOf(event);
    if (index === undefined && idsOf(event).length > 0) return undefined;
    const numbered = index === undefined ? this.#last : this.#byIndex.get(index);
    if (!numbered || numbered.kind === kind) return numbered;
    return this.#byKind.get(kind)?.at(-1);
  }

  /** The item of this kind that the last event repeats: by its id, or else the one with as many of the kind before it. */
  repeatedBy(item: JsonObject, kind: ItemKind, at: number): StreamedItem | undefined {
    return this.#named({ item }, kind) ?? this.#byKind.get(kind)?.[at];
  }

  add(kind: ItemKind, event: JsonObject): StreamedItem {
    const phase = objectOf(event['item'])?.['phase'];
    const item: StreamedItem = {
      kind,
      place: this.#last ? this.#last.place + 1 : 0,
      phase: phase === 'commentary' || phase === 'final_answer' ? phase : undefined,
      isBegun: false,
      parts: new Set(),
      said: new Map(),
      unclosed: new Set(),
      hasCallText: false,
      hasOpaque: false,
    };
    this.#last = item;
    const index = indexOf(event);
    if (index !== undefined && !this.#byIndex.has(index)) this.#byIndex.set(index, item);
    const others = this.#byKind.get(kind);
    if (others) others.push(item);
    else this.#byKind.set(kind, [item]);
    this.#name(item, event);
    return item;
  }

  #named(event: JsonObject, kind?: ItemKind): StreamedItem | undefined {
    return idsOf(event)
      .map((id) => this.#byId.get(id))
      .find((item) => item && (kind === undefined || item.kind === kind));
  }

  /** An id that comes again is that of the later item. */
  #name(item: StreamedItem, event: JsonObject): void {
    for (const id of idsOf(event)) this.#byId.set(id, item);
  }
}

function indexOf(event: JsonObject): number | undefined {
  const index = event['output_index'];
  return typeof index === 'number' ? index : undefined;
}

/** The names that an event has for its item. llama.cpp has the id of a call as its `call_id` alone, and vLLM as an `item_id` within. */
function idsOf(event: JsonObject): string[] {
  const item = objectOf(event['item']);
  const ids = [event['item_id'], item?.['id'], item?.['item_id'], item?.['call_id']];
  return ids.flatMap((id) => textOf(id) ?? []);
}

export function isCall(kind: unknown): kind is CallKind {
  return kind === 'function_call' || kind === 'custom_tool_call';
}

/** The kind of an item; undefined for items that are skipped. */
export function itemKindOf({ type }: JsonObject): ItemKind | undefined {
  return type === 'message' || type === 'reasoning' || isCall(type) ? type : undefined;
}

export function itemOfPiece(kind: PieceKind): ItemKind {
  return kind.startsWith('reasoning') ? 'reasoning' : 'message';
}

/** The texts of the parts of one type, by their places. */
export function textsIn(parts: unknown, type: string, member: string): Map<number, string> {
  const texts = new Map<number, string>();
  for (const [at, part] of listOf(parts).entries()) {
    const text = isObject(part) && part['type'] === type ? textOf(part[member]) : undefined;
    if (text !== undefined) texts.set(at, text);
  }
  return texts;
}

export function partKey(event: JsonObject, kind: PieceKind): string {
  const part =
    kind === 'reasoning_summary'
      ? (event['summary_index'] ?? event['content_index'])
      : event['content_index'];
  return `${kind}:${typeof part === 'number' ? part : 0}`;
}
