import { closeItem, emptyOutput, track } from './close-items.ts';
import { errorEvent } from './error-event.ts';
import type { UnnumberedEvent } from './events.ts';
import { type ContentPart, isToolCall, type OutputItem } from './output.ts';
import type { ResponseEnd } from './response.ts';

type Derived = Pick<ResponseEnd, 'output' | 'error'>;

/**
 * Makes the content events of a response that was not logged as a stream, behind the first `skipped` ones. Each part of an
 * item has a single delta, as if the model had produced it in one piece. The same response always gives the same events.
 *
 * It makes each event when it is wanted, and none of an item that is skipped: a large answer is several times as large in
 * events.
 */
export function* deriveEvents({ output, error }: Derived, skipped = 0): Generator<UnnumberedEvent> {
  let toSkip = skipped;
  for (const [index, item] of output.entries()) {
    const count = eventsOf(item);
    if (toSkip < count) {
      for (const event of tracked(item, index)) {
        if (toSkip === 0) yield event;
        else toSkip -= 1;
      }
    } else toSkip -= count;
  }
  if (error && toSkip === 0) yield errorEvent(error);
}

/** How many events `deriveEvents` makes, without making them. */
export function countDerivedEvents({ output, error }: Derived): number {
  return output.reduce((sum, item) => sum + eventsOf(item), error ? 1 : 0);
}

/** How many events an item has: it is added, its parts come, it is done. */
function eventsOf(item: OutputItem): number {
  switch (item.type) {
    case 'message':
      return item.content.reduce((sum, part) => sum + eventsOfPart(part), 2);
    case 'function_call':
    case 'custom_tool_call':
      return 4;
    case 'reasoning': {
      const ofSummary = item.summary.reduce((sum, { text }) => sum + (text === '' ? 3 : 4), 2);
      return (item.content ?? []).reduce((sum, part) => sum + eventsOfPart(part), ofSummary);
    }
  }
}

function eventsOfPart(part: ContentPart): number {
  if (part.type !== 'output_text') return 4;
  return (part.text === '' ? 3 : 4) + part.annotations.length;
}

/** The events of one item, each made when it is wanted. */
function* tracked(item: OutputItem, index: number): Generator<UnnumberedEvent> {
  const output = emptyOutput();
  for (const event of openingEvents(item, index)) {
    track(output, event);
    yield event;
  }
  sealAtEnd(output.fold.items[index], item);
  yield* closeItem(output, index, item.status === 'incomplete' ? 'incomplete' : 'completed');
}

/** Everything but the events that close the item. */
function* openingEvents(item: OutputItem, index: number): Generator<UnnumberedEvent> {
  yield { type: 'response.output_item.added', output_index: index, item: emptied(item) };
  const at = { item_id: item.id, output_index: index };
  if (item.type === 'function_call') {
    yield { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments };
  }
  if (item.type === 'custom_tool_call') {
    yield { type: 'response.custom_tool_call_input.delta', ...at, delta: item.input };
  }
  if (item.type === 'reasoning') yield* summaryEvents(item, at);
  const content = isToolCall(item) ? [] : (item.content ?? []);
  for (const [content_index, part] of content.entries()) yield* partEvents(part, { ...at, content_index });
}

function* summaryEvents(
  item: Extract<OutputItem, { type: 'reasoning' }>,
  at: { item_id: string; output_index: number },
): Generator<UnnumberedEvent> {
  for (const [summary_index, { type, text }] of item.summary.entries()) {
    const inSummary = { ...at, summary_index };
    yield { type: 'response.reasoning_summary_part.added', ...inSummary, part: { type, text: '' } };
    if (text !== '') yield { type: 'response.reasoning_summary_text.delta', ...inSummary, delta: text };
    yield { type: 'response.reasoning_summary_text.done', ...inSummary, text };
    yield { type: 'response.reasoning_summary_part.done', ...inSummary, part: { type, text } };
  }
}

function* partEvents(
  part: ContentPart,
  at: { item_id: string; output_index: number; content_index: number },
): Generator<UnnumberedEvent> {
  switch (part.type) {
    case 'output_text': {
      const { text, annotations, logprobs } = part;
      const empty = { type: part.type, text: '', annotations: [], logprobs: [] };
      yield { type: 'response.content_part.added', ...at, part: empty };
      if (text !== '') yield { type: 'response.output_text.delta', ...at, delta: text, logprobs };
      for (const [annotation_index, annotation] of annotations.entries()) {
        yield { type: 'response.output_text.annotation.added', ...at, annotation_index, annotation };
      }
      yield { type: 'response.output_text.done', ...at, text, logprobs };
      break;
    }
    case 'refusal':
      yield { type: 'response.content_part.added', ...at, part: { type: part.type, refusal: '' } };
      yield { type: 'response.refusal.delta', ...at, delta: part.refusal };
      yield { type: 'response.refusal.done', ...at, refusal: part.refusal };
      break;
    case 'reasoning_text':
      yield { type: 'response.content_part.added', ...at, part: { type: part.type, text: '' } };
      yield { type: 'response.reasoning_text.delta', ...at, delta: part.text };
      yield { type: 'response.reasoning_text.done', ...at, text: part.text };
      break;
  }
  yield { type: 'response.content_part.done', ...at, part };
}

/** Gives folded reasoning what it has only when it is done. */
function sealAtEnd(folded: OutputItem | undefined, item: OutputItem): void {
  if (folded?.type !== 'reasoning' || item.type !== 'reasoning') return;
  if (item.encrypted_content !== undefined) folded.encrypted_content = item.encrypted_content;
}

/** Returns the item as it is when it is added: without content. */
function emptied(item: OutputItem): OutputItem {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, status: 'in_progress', input: '' };
    case 'reasoning':
      return { type: 'reasoning', id: item.id, status: 'in_progress', summary: [] };
  }
}
