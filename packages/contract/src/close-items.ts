import type { ContentEvent, EventType, UnnumberedEvent } from './events.ts';
import { applyEvent, emptyFold, type OutputFold } from './fold.ts';
import type { OutputItem } from './output.ts';

/** The output so far. `open` has the last event type of each item that has not seen its `done`. */
export interface OpenOutput {
  fold: OutputFold;
  open: Map<number, EventType>;
}

export function emptyOutput(): OpenOutput {
  return { fold: emptyFold(), open: new Map() };
}

/** Applies an event and notes which items are open after it. For `takeOver` see `applyEvent`. */
export function track(output: OpenOutput, event: UnnumberedEvent, takeOver = false): void {
  applyEvent(output.fold, event, takeOver);
  if (event.type === 'response.output_item.done') output.open.delete(event.output_index);
  else if ('output_index' in event) output.open.set(event.output_index, event.type);
}

/** Follows a whole log, or the part of one that a dead attempt wrote. */
export function trackAll(events: Iterable<ContentEvent>): OpenOutput {
  const output = emptyOutput();
  for (const event of events) track(output, event);
  return output;
}

/**
 * Returns the events that finish an open item: the `done` of its open part, then the `done` of the item.
 *
 * Events that the log already has are left out. A log can therefore break off anywhere, even between two `done` events,
 * and these events make it complete.
 *
 * They share what they say with the output, which is large in a large answer. Nothing changes it after they were made.
 */
export function closeItem(
  output: OpenOutput,
  index: number,
  status: 'completed' | 'incomplete',
): UnnumberedEvent[] {
  const item = output.fold.items[index];
  const last = output.open.get(index);
  if (!item || !last) return [];
  return [
    ...closePart(item, index, last),
    { type: 'response.output_item.done', output_index: index, item: { ...item, status } },
  ];
}

/** Returns the events that finish the open part of an item, and leave the item open. The cost is that of the part alone. */
export function closeOpenPart(output: OpenOutput, index: number): UnnumberedEvent[] {
  const item = output.fold.items[index];
  const last = output.open.get(index);
  return item && last ? closePart(item, index, last) : [];
}

/** Closes an open item in place, without events, for an output whose events nobody follows. */
export function closeSilently(output: OpenOutput, index: number, status: 'completed' | 'incomplete'): void {
  const item = output.fold.items[index];
  if (!item || !output.open.delete(index)) return;
  item.status = status;
}

/** Returns the events that close every open item as `incomplete`, for a stream that is cut short. */
export function closeAll(output: OpenOutput): UnnumberedEvent[] {
  return [...output.open.keys()].flatMap((index) => closeItem(output, index, 'incomplete'));
}

function closePart(item: OutputItem, outputIndex: number, last: EventType): UnnumberedEvent[] {
  const at = { item_id: item.id, output_index: outputIndex };
  switch (item.type) {
    case 'function_call':
      return last === 'response.function_call_arguments.done'
        ? []
        : [
            {
              type: 'response.function_call_arguments.done',
              ...at,
              name: item.name,
              arguments: item.arguments,
            },
          ];
    case 'custom_tool_call':
      return last === 'response.custom_tool_call_input.done'
        ? []
        : [{ type: 'response.custom_tool_call_input.done', ...at, input: item.input }];
    case 'message':
      return closeMessagePart(item.content, at, last);
    case 'reasoning':
      return item.content?.length
        ? closeReasoningText(item.content, at, last)
        : closeSummary(item.summary, at, last);
  }
}

type At = { item_id: string; output_index: number };
type Item<Type extends OutputItem['type']> = Extract<OutputItem, { type: Type }>;

function closeMessagePart(content: Item<'message'>['content'], at: At, last: EventType): UnnumberedEvent[] {
  const part = content.at(-1);
  if (!part || last === 'response.content_part.done') return [];
  const inPart = { ...at, content_index: content.length - 1 };
  const partDone = { type: 'response.content_part.done', ...inPart, part } as const;
  if (last === 'response.output_text.done' || last === 'response.refusal.done') return [partDone];
  return part.type === 'output_text'
    ? [{ type: 'response.output_text.done', ...inPart, text: part.text, logprobs: part.logprobs }, partDone]
    : [{ type: 'response.refusal.done', ...inPart, refusal: part.refusal }, partDone];
}

function closeReasoningText(
  content: NonNullable<Item<'reasoning'>['content']>,
  at: At,
  last: EventType,
): UnnumberedEvent[] {
  const part = content.at(-1);
  if (!part || last === 'response.content_part.done') return [];
  const inPart = { ...at, content_index: content.length - 1 };
  const partDone = { type: 'response.content_part.done', ...inPart, part: { ...part } } as const;
  if (last === 'response.reasoning_text.done') return [partDone];
  return [{ type: 'response.reasoning_text.done', ...inPart, text: part.text }, partDone];
}

function closeSummary(summary: Item<'reasoning'>['summary'], at: At, last: EventType): UnnumberedEvent[] {
  const part = summary.at(-1);
  if (!part || last === 'response.reasoning_summary_part.done') return [];
  const inSummary = { ...at, summary_index: summary.length - 1 };
  const partDone = { type: 'response.reasoning_summary_part.done', ...inSummary, part: { ...part } } as const;
  if (last === 'response.reasoning_summary_text.done') return [partDone];
  return [{ type: 'response.reasoning_summary_text.done', ...inSummary, text: part.text }, partDone];
}
