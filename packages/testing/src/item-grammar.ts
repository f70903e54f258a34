import { isDeepStrictEqual } from 'node:util';
import {
  type ContentEvent,
  type ContentPart,
  isToolCall,
  itemIdPrefixes,
  type OutputItem,
  type SummaryPart,
} from '@sluice/contract';

export type Report = (problem: string) => void;

type Part = ContentPart | SummaryPart;

interface OpenPart {
  /** The part as the events so far make it. */
  part: Part;
  index: number;
  isTextDone: boolean;
}

interface ItemState {
  /** The item as the events so far make it. */
  item: OutputItem;
  isOpen: boolean;
  areArgumentsDone: boolean;
  open: OpenPart | undefined;
  summaries: number;
  contents: number;
}

type EventOf<Type extends ContentEvent['type']> = Extract<ContentEvent, { type: Type }>;

/**
 * Follows the output items of a stream: which items and parts are open, and what their deltas add up to. It does not use
 * the contract's fold, so that each checks the other.
 */
export class ItemGrammar {
  readonly #items: ItemState[] = [];

  /** The items so far, in order. */
  get items(): OutputItem[] {
    return this.#items.map(({ item }) => item);
  }

  /** One sentence for each item that is still open, which the end of a stream forbids. */
  stillOpen(): string[] {
    return this.#items.flatMap(({ isOpen }, index) =>
      isOpen ? [`output item ${index} was never done`] : [],
    );
  }

  check(event: Exclude<ContentEvent, { type: 'error' }>, report: Report): void {
    if (event.type === 'response.output_item.added') return this.#add(event, report);
    const state = this.#items[event.output_index];
    if (!state) return report(`no output item was added at index ${event.output_index}`);
    if (!state.isOpen) return report(`output item ${event.output_index} is done already`);
    if (event.type === 'response.output_item.done') return finishItem(state, event, report);
    if (event.item_id !== state.item.id) {
      report(`item_id is ${event.item_id}, the item at its index is ${state.item.id}`);
    }
    checkPart(state, event, report);
  }

  #add({ output_index: index, item }: EventOf<'response.output_item.added'>, report: Report): void {
    if (index !== this.#items.length) report(`output_index is ${index}, expected ${this.#items.length}`);
    if (this.#items.some((state) => state.item.id === item.id)) report(`item id ${item.id} was used before`);
    if (!item.id.startsWith(itemIdPrefixes[item.type]))
      report(`item id ${item.id} has another type's prefix`);
    if (item.status !== 'in_progress') report(`an added item is in_progress, not ${String(item.status)}`);
    if (!isEmpty(item)) report('an added item is empty');
    this.#items[index] = {
      item: structuredClone(item),
      isOpen: true,
      areArgumentsDone: false,
      open: undefined,
      summaries: 0,
      contents: 0,
    };
  }
}

function isEmpty(item: OutputItem): boolean {
  switch (item.type) {
    case 'message':
      return item.content.length === 0;
    case 'function_call':
      return item.arguments === '';
    case 'custom_tool_call':
      return item.input === '';
    case 'reasoning':
      return item.summary.length === 0 && (item.content ?? []).length === 0;
  }
}

function finishItem(state: ItemState, { item }: EventOf<'response.output_item.done'>, report: Report): void {
  if (state.open) report('a part of the item was never done');
  if (isToolCall(state.item) && !state.areArgumentsDone) report('the arguments were never done');
  if (item.status !== 'completed' && item.status !== 'incomplete') {
    report(`a done item is completed or incomplete, not ${String(item.status)}`);
  }
  if (!isDeepStrictEqual(streamedPartOf(item), streamedPartOf(state.item))) {
    report(`the done item is not what was streamed: ${JSON.stringify(state.item)}`);
  }
  state.isOpen = false;
  state.item = structuredClone(item);
}

/** An item without its status, and without the encrypted content that a reasoning item may gain at its end. */
function streamedPartOf(item: OutputItem): object {
  const streamed: Record<string, unknown> = { ...item };
  delete streamed['status'];
  delete streamed['encrypted_content'];
  return streamed;
}

type PartEvent = Exclude<
  ContentEvent,
  { type: 'error' | 'response.output_item.added' | 'response.output_item.done' }
>;

function checkPart(state: ItemState, event: PartEvent, report: Report): void {
  switch (event.type) {
    case 'response.content_part.added':
    case 'response.reasoning_summary_part.added':
      return addPart(state, event, report);
    case 'response.content_part.done':
    case 'response.reasoning_summary_part.done':
      return finishPart(state, event, report);
    case 'response.function_call_arguments.delta':
    case 'response.function_call_arguments.done':
      return checkArguments(state, event, report);
    case 'response.custom_tool_call_input.delta':
    case 'response.custom_tool_call_input.done':
      return checkInput(state, event, report);
    case 'response.output_text.annotation.added': {
      const open = openPart(state, 'output_text', event.content_index, report);
      if (open?.part.type !== 'output_text') return;
      if (event.annotation_index !== open.part.annotations.length) {
        report(`annotation_index is ${event.annotation_index}, expected ${open.part.annotations.length}`);
      }
      open.part.annotations.push(event.annotation);
      return;
    }
    case 'response.output_text.delta':
    case 'response.refusal.delta':
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta': {
      const open = openPart(state, partTypeOf(event.type), indexOf(event), report);
      if (!open) return;
      if (open.part.type === 'refusal') open.part.refusal += event.delta;
      else open.part.text += event.delta;
      if ('logprobs' in event && open.part.type === 'output_text') open.part.logprobs.push(...event.logprobs);
      return;
    }
    case 'response.output_text.done':
    case 'response.refusal.done':
    case 'response.reasoning_text.done':
    case 'response.reasoning_summary_text.done': {
      const open = openPart(state, partTypeOf(event.type), indexOf(event), report);
      if (!open) return;
      const said = event.type === 'response.refusal.done' ? event.refusal : event.text;
      if (said !== textOf(open.part)) report('the text is not what its deltas amount to');
      open.isTextDone = true;
    }
  }
}

function addPart(
  state: ItemState,
  event: EventOf<'response.content_part.added' | 'response.reasoning_summary_part.added'>,
  report: Report,
): void {
  const { part } = event;
  const isSummary = part.type === 'summary_text';
  if (state.open) report('another part of the item is open');
  const expected = isSummary ? state.summaries : state.contents;
  const index = indexOf(event);
  if (index !== expected) report(`the part's index is ${index}, expected ${expected}`);
  if (isSummary && state.contents > 0) report('a summary stands before the content of a reasoning');
  if (!mayHold(state.item, part)) report(`a ${state.item.type} has no part of type ${part.type}`);
  if (textOf(part) !== '') report('an added part is empty');
  if (part.type === 'output_text' && part.annotations.length + part.logprobs.length > 0) {
    report('an added part is empty');
  }
  if (isSummary) state.summaries += 1;
  else state.contents += 1;
  state.open = { part: structuredClone(part), index, isTextDone: false };
}

function finishPart(
  state: ItemState,
  event: EventOf<'response.content_part.done' | 'response.reasoning_summary_part.done'>,
  report: Report,
): void {
  const { open, item } = state;
  if (!open || open.part.type !== event.part.type) return report(`no ${event.part.type} part is open`);
  if (indexOf(event) !== open.index) report(`the part's index is ${indexOf(event)}, expected ${open.index}`);
  if (!open.isTextDone) report('the text of the part was never done');
  if (!isDeepStrictEqual(event.part, open.part)) report('the done part is not what was streamed');
  state.open = undefined;
  const { part } = open;
  if (part.type === 'summary_text') {
    if (item.type === 'reasoning') item.summary.push(part);
  } else if (part.type === 'reasoning_text') {
    if (item.type === 'reasoning') (item.content ??= []).push(part);
  } else if (item.type === 'message') {
    item.content.push(part);
  }
}

function checkArguments(
  state: ItemState,
  event: EventOf<'response.function_call_arguments.delta' | 'response.function_call_arguments.done'>,
  report: Report,
): void {
  const { item } = state;
  if (item.type !== 'function_call') return report(`a ${item.type} has no arguments`);
  if (state.areArgumentsDone) return report('the arguments are done already');
  if (event.type === 'response.function_call_arguments.delta') {
    item.arguments += event.delta;
    return;
  }
  if (event.arguments !== item.arguments) report('the arguments are not what their deltas amount to');
  if (event.name !== item.name) report(`the name is ${event.name}, the call's is ${item.name}`);
  state.areArgumentsDone = true;
}

function checkInput(
  state: ItemState,
  event: EventOf<'response.custom_tool_call_input.delta' | 'response.custom_tool_call_input.done'>,
  report: Report,
): void {
  const { item } = state;
  if (item.type !== 'custom_tool_call') return report(`a ${item.type} has no input`);
  if (state.areArgumentsDone) return report('the input is done already');
  if (event.type === 'response.custom_tool_call_input.delta') {
    item.input += event.delta;
    return;
  }
  if (event.input !== item.input) report('the input is not what its deltas amount to');
  state.areArgumentsDone = true;
}

/** Returns the open part that an event is about. Reports a problem and returns undefined when there is no such part. */
function openPart(state: ItemState, type: Part['type'], index: number, report: Report): OpenPart | undefined {
  const { open } = state;
  if (!open || open.part.type !== type) {
    report(`no ${type} part is open`);
    return undefined;
  }
  if (index !== open.index) report(`the part's index is ${index}, expected ${open.index}`);
  if (!open.isTextDone) return open;
  report('the text of the part is done already');
  return undefined;
}

function partTypeOf(eventType: string): Part['type'] {
  if (eventType.startsWith('response.output_text')) return 'output_text';
  if (eventType.startsWith('response.refusal')) return 'refusal';
  return eventType.startsWith('response.reasoning_text') ? 'reasoning_text' : 'summary_text';
}

function indexOf(event: { content_index: number } | { summary_index: number }): number {
  return 'content_index' in event ? event.content_index : event.summary_index;
}

function textOf(part: Part): string {
  return part.type === 'refusal' ? part.refusal : part.text;
}

function mayHold(item: OutputItem, part: Part): boolean {
  if (item.type === 'message') return part.type === 'output_text' || part.type === 'refusal';
  return item.type === 'reasoning' && (part.type === 'summary_text' || part.type === 'reasoning_text');
}
