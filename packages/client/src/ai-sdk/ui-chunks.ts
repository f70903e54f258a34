import type { UIMessageChunk } from 'ai';
import type { ItemEvent, LifecycleEvent, ResponseEvent } from '../events.ts';
import type {
  Annotation,
  OutputItem,
  OutputText,
  ReasoningText,
  Refusal,
  ResponseObject,
} from '../response.ts';

/** Turns the events of one response into the chunks of one message. The same events give the same chunks. */
export class UiChunks {
  readonly #messageId: string | undefined;
  readonly #before: readonly UIMessageChunk[];
  /** The calls by the ids of their items: deltas name only those. */
  readonly #calls = new Map<string, string>();

  /** `messageId`: the message that the response goes on with, if not a new one. `before`: what is in it already. */
  constructor({
    messageId,
    before = [],
  }: { messageId?: string | undefined; before?: readonly UIMessageChunk[] | undefined } = {}) {
    this.#messageId = messageId;
    this.#before = before;
  }

  /** The chunks of the next event. */
  of(event: ResponseEvent): UIMessageChunk[] {
    switch (event.type) {
      case 'response.created':
        return this.#start(event.response);
      case 'response.output_item.added':
        return this.#begin(event);
      case 'response.output_item.done':
        return this.#end(event);
      case 'response.content_part.added':
        return [
          {
            type: event.part.type === 'reasoning_text' ? 'reasoning-start' : 'text-start',
            id: partId(event),
          },
        ];
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return [{ type: 'text-delta', id: partId(event), delta: event.delta }];
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
        return [{ type: 'reasoning-delta', id: partId(event), delta: event.delta }];
      case 'response.content_part.done':
        return [
          { type: event.part.type === 'reasoning_text' ? 'reasoning-end' : 'text-end', id: partId(event) },
        ];
      case 'response.reasoning_summary_part.added':
        return [{ type: 'reasoning-start', id: summaryId(event) }];
      case 'response.reasoning_summary_text.delta':
        return [{ type: 'reasoning-delta', id: summaryId(event), delta: event.delta }];
      case 'response.reasoning_summary_part.done':
        return [{ type: 'reasoning-end', id: summaryId(event) }];
      case 'response.function_call_arguments.delta': {
        const toolCallId = this.#calls.get(event.item_id);
        return toolCallId === undefined
          ? []
          : [{ type: 'tool-input-delta', toolCallId, inputTextDelta: event.delta }];
      }
      case 'response.output_text.annotation.added':
        return sourceOf(event.annotation, `${partId(event)}:${event.annotation_index}`);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return endOf(event);
      default:
        return [];
    }
  }

  /** The chunks of a response that has ended, all at once: the same parts, each in one piece. */
  ofWhole(response: ResponseObject): UIMessageChunk[] {
    const content = response.output.flatMap((item) => this.#whole(item));
    return [...this.#start(response), ...content, ...endOf({ response })];
  }

  #start({ id }: ResponseObject): UIMessageChunk[] {
    return [{ type: 'start', messageId: this.#messageId ?? id }, ...this.#before, { type: 'start-step' }];
  }

  #whole(item: OutputItem): UIMessageChunk[] {
    switch (item.type) {
      case 'message':
        return item.content.flatMap((part, index) => wholePart(part, item.id, index));
      case 'reasoning': {
        const summary = item.summary.flatMap(({ text }, index) =>
          wholeReasoning(text, summaryId({ item_id: item.id, summary_index: index })),
        );
        const content = item.content ?? [];
        return [...summary, ...content.flatMap((part, index) => wholePart(part, item.id, index))];
      }
      case 'function_call':
        return [...this.#begin({ item }), ...this.#end({ item })];
      default:
        return [];
    }
  }

  #begin({ item }: Pick<ItemEvent, 'item'>): UIMessageChunk[] {
    if (item.type !== 'function_call') return [];
    this.#calls.set(item.id, item.call_id);
    return [{ type: 'tool-input-start', toolCallId: item.call_id, toolName: item.name }];
  }

  #end({ item }: Pick<ItemEvent, 'item'>): UIMessageChunk[] {
    if (item.type !== 'function_call') return [];
    const call = { toolCallId: item.call_id, toolName: item.name };
    if (item.status === 'completed') {
      try {
        const input: unknown = JSON.parse(item.arguments === '' ? '{}' : item.arguments);
        return [{ type: 'tool-input-available', ...call, input }];
      } catch {
        // A model may write what is not JSON.
      }
    }
    const errorText = 'The arguments of the call are not complete.';
    return [{ type: 'tool-input-error', ...call, input: item.arguments, errorText }];
  }
}

function partId({ item_id: item, content_index: index }: { item_id: string; content_index: number }): string {
  return `${item}:${index}`;
}

function summaryId({
  item_id: item,
  summary_index: index,
}: {
  item_id: string;
  summary_index: number;
}): string {
  return `${item}:summary:${index}`;
}

function wholePart(
  part: OutputText | Refusal | ReasoningText,
  item: string,
  index: number,
): UIMessageChunk[] {
  const id = partId({ item_id: item, content_index: index });
  if (part.type === 'reasoning_text') return wholeReasoning(part.text, id);
  const annotations = part.type === 'output_text' ? (part.annotations ?? []) : [];
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: part.type === 'refusal' ? part.refusal : part.text },
    ...annotations.flatMap((annotation, at) => sourceOf(annotation, `${id}:${at}`)),
    { type: 'text-end', id },
  ];
}

function wholeReasoning(text: string, id: string): UIMessageChunk[] {
  return [
    { type: 'reasoning-start', id },
    { type: 'reasoning-delta', id, delta: text },
    { type: 'reasoning-end', id },
  ];
}

function sourceOf(annotation: Annotation, sourceId: string): UIMessageChunk[] {
  const { type, url, title } = annotation;
  if (type !== 'url_citation' || typeof url !== 'string') return [];
  return [{ type: 'source-url', sourceId, url, ...(typeof title === 'string' && { title }) }];
}

function endOf({ response }: Pick<LifecycleEvent, 'response'>): UIMessageChunk[] {
  const { status, error, incomplete_details: details, output } = response;
  if (status === 'failed') return [{ type: 'error', errorText: error?.message ?? 'The response failed.' }];
  if (status === 'cancelled') return [{ type: 'finish-step' }, { type: 'abort', reason: 'cancelled' }];
  return [{ type: 'finish-step' }, { type: 'finish', finishReason: reasonOf(details?.reason, output) }];
}

function reasonOf(
  incomplete: string | undefined,
  output: LifecycleEvent['response']['output'],
): 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other' {
  switch (incomplete) {
    case undefined:
      return output.some(({ type }) => type === 'function_call') ? 'tool-calls' : 'stop';
    case 'max_output_tokens':
      return 'length';
    case 'content_filter':
      return 'content-filter';
    default:
      return 'other';
  }
}
