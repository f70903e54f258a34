import { copy } from './copy.ts';
import type { ResponseEvent, UnnumberedEvent } from './events.ts';
import type { ContentPart, MessageItem, OutputItem, ReasoningItem } from './output.ts';

/** The output items that the events so far add up to. */
export interface OutputFold {
  items: OutputItem[];
}

export function emptyFold(): OutputFold {
  return { items: [] };
}

/**
 * Applies one content event to the output so far, in place. Items and parts of the event are copied, unless
 * `takeOver` says that nobody else will look at it.
 *
 * The fold of a prefix of a log is the partial output at that point. The fold of the whole log is `output`.
 *
 * @throws {RangeError} when the event names an item or part that was never added, which means that the log is broken.
 */
export function applyEvent(fold: OutputFold, event: UnnumberedEvent, takeOver = false): void {
  switch (event.type) {
    case 'response.output_item.added':
    case 'response.output_item.done':
      fold.items[event.output_index] = takeOver ? event.item : copy(event.item);
      return;
    case 'response.content_part.added':
    case 'response.content_part.done':
      setPart(
        itemAt(fold, event.output_index),
        event.content_index,
        takeOver ? event.part : copy(event.part),
      );
      return;
    case 'response.output_text.delta': {
      const part = partAt(fold, event.output_index, event.content_index, 'output_text');
      part.text += event.delta;
      // One by one: as arguments of a single call, a large answer's would not fit on the stack.
      for (const logprob of event.logprobs) part.logprobs.push(logprob);
      return;
    }
    case 'response.output_text.done':
      partAt(fold, event.output_index, event.content_index, 'output_text').text = event.text;
      return;
    case 'response.output_text.annotation.added':
      partAt(fold, event.output_index, event.content_index, 'output_text').annotations[
        event.annotation_index
      ] = event.annotation;
      return;
    case 'response.refusal.delta':
      partAt(fold, event.output_index, event.content_index, 'refusal').refusal += event.delta;
      return;
    case 'response.refusal.done':
      partAt(fold, event.output_index, event.content_index, 'refusal').refusal = event.refusal;
      return;
    case 'response.reasoning_text.delta':
      partAt(fold, event.output_index, event.content_index, 'reasoning_text').text += event.delta;
      return;
    case 'response.reasoning_text.done':
      partAt(fold, event.output_index, event.content_index, 'reasoning_text').text = event.text;
      return;
    case 'response.reasoning_summary_part.added':
    case 'response.reasoning_summary_part.done':
      reasoningAt(fold, event.output_index).summary[event.summary_index] = { ...event.part };
      return;
    case 'response.reasoning_summary_text.delta':
      summaryAt(fold, event.output_index, event.summary_index).text += event.delta;
      return;
    case 'response.reasoning_summary_text.done':
      summaryAt(fold, event.output_index, event.summary_index).text = event.text;
      return;
    case 'response.function_call_arguments.delta':
      callAt(fold, event.output_index).arguments += event.delta;
      return;
    case 'response.function_call_arguments.done':
      callAt(fold, event.output_index).arguments = event.arguments;
      return;
    case 'response.custom_tool_call_input.delta':
      customCallAt(fold, event.output_index).input += event.delta;
      return;
    case 'response.custom_tool_call_input.done':
      customCallAt(fold, event.output_index).input = event.input;
      return;
    case 'error':
      return;
    default:
      event satisfies never;
  }
}

/** Folds a whole log, or a prefix of one. Life-cycle events are skipped, since they add no output. */
export function foldEvents(events: Iterable<ResponseEvent>): OutputItem[] {
  const fold = emptyFold();
  for (const event of events) {
    if (!('response' in event)) applyEvent(fold, event);
  }
  return fold.items;
}

function itemAt(fold: OutputFold, index: number): OutputItem {
  const item = fold.items[index];
  if (!item) throw new RangeError(`No output item was added at index ${index}`);
  return item;
}

function reasoningAt(fold: OutputFold, index: number): ReasoningItem {
  const item = itemAt(fold, index);
  if (item.type !== 'reasoning') throw new RangeError(`The output item at index ${index} is no reasoning`);
  return item;
}

function callAt(fold: OutputFold, index: number) {
  const item = itemAt(fold, index);
  if (item.type !== 'function_call')
    throw new RangeError(`The output item at index ${index} is no function call`);
  return item;
}

function customCallAt(fold: OutputFold, index: number) {
  const item = itemAt(fold, index);
  if (item.type !== 'custom_tool_call')
    throw new RangeError(`The output item at index ${index} is no call of a custom tool`);
  return item;
}

function summaryAt(fold: OutputFold, index: number, summaryIndex: number) {
  const part = reasoningAt(fold, index).summary[summaryIndex];
  if (!part) throw new RangeError(`No summary part was added at index ${summaryIndex} of item ${index}`);
  return part;
}

function setPart(item: OutputItem, index: number, part: ContentPart): void {
  if (item.type === 'reasoning' && part.type === 'reasoning_text') reasoningContent(item)[index] = part;
  else if (item.type === 'message' && part.type !== 'reasoning_text') item.content[index] = part;
  else throw new RangeError(`A ${item.type} item has no ${part.type} parts`);
}

function partAt<Type extends ContentPart['type']>(
  fold: OutputFold,
  outputIndex: number,
  index: number,
  type: Type,
) {
  const part = contentOf(itemAt(fold, outputIndex))[index];
  if (part?.type !== type)
    throw new RangeError(`No ${type} part was added at index ${index} of item ${outputIndex}`);
  // The comparison above narrows the type, but the compiler does not follow it for a generic one.
  return part as Extract<ContentPart, { type: Type }>;
}

function contentOf(item: MessageItem | ReasoningItem | OutputItem): ContentPart[] {
  if (item.type === 'message') return item.content;
  return item.type === 'reasoning' ? reasoningContent(item) : [];
}

function reasoningContent(item: ReasoningItem) {
  item.content ??= [];
  return item.content;
}
