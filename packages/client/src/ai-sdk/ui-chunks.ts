import type { UIMessageChunk } from 'ai';
import type { ItemEvent, LifecycleEvent, ResponseEvent } from '../events.ts';

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
        return [
          { type: 'start', messageId: this.#messageId ?? event.response.id },
          ...this.#before,
          { type: 'start-step' },
        ];
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

  #begin({ item }: ItemEvent): UIMessageChunk[] {
    if (item.type !== 'function_call') return [];
    this.#calls.set(item.id, item.call_id);
    return [{ type: 'tool-input-start', toolCallId: item.call_id, toolName: item.name }];
  }

  #end({ item }: ItemEvent): UIMessageChunk[] {
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

function sourceOf(
  annotation: { type: string; [member: string]: unknown },
  sourceId: string,
): UIMessageChunk[] {
  const { type, url, title } = annotation;
  if (type !== 'url_citation' || typeof url !== 'string') return [];
  return [{ type: 'source-url', sourceId, url, ...(typeof title === 'string' && { title }) }];
}

function endOf({ response }: LifecycleEvent): UIMessageChunk[] {
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
