import {
  type ErrorBody,
  isTerminalType,
  isToolCall,
  type ResponseEvent,
  ServiceError,
} from '@sluice/contract';
import { betweenReasoning, lifecycleEvent, type ToldLifecycle } from '../response-facts.ts';
import { annotationOf, finishReasonOf, headOf, usageOf } from './chat-completion.ts';
import { asChatError } from './chat-params.ts';
import type { ChatDelivery } from './chat-request.ts';

/**
 * Turns the events of a response into the chunks of a chat completion, in their order. One serves one stream.
 *
 * Texts stay as they are, also marks that stand for long ones. Events that repeat what was said bring nothing.
 */
export class ChatChunks {
  readonly #includesUsage: boolean;
  /** The members that all chunks have, as the beginning of their JSON. */
  #head = '';
  #hasRole = false;
  /** The place of each call among the calls, by that of its item in the output. */
  readonly #calls = new Map<number, number>();
  /** The part of reasoning that was told last. */
  #reasoning: string | undefined;
  #hasFailed = false;

  constructor({ includesUsage }: ChatDelivery) {
    this.#includesUsage = includesUsage;
  }

  /** Whether the last chunk was an error, behind which nothing comes. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The JSON of each chunk that an event becomes. */
  of(type: string, json: string): string[] {
    if (type === 'response.created') {
      this.#begin(lifecycleEvent(json));
      return [];
    }
    if (isTerminalType(type)) return this.#end(lifecycleEvent(json));
    if (!told.has(type)) return [];
    // A worker has written it by the table of events.
    return this.#content(JSON.parse(json) as ResponseEvent);
  }

  #begin({ response }: Pick<ToldLifecycle, 'response'>): void {
    this.#head = JSON.stringify(headOf(response, 'chat.completion.chunk')).slice(0, -1);
  }

  #content(event: ResponseEvent): string[] {
    switch (event.type) {
      case 'response.output_text.delta':
        return this.#delta({ content: event.delta }, event.logprobs);
      case 'response.refusal.delta':
        return this.#delta({ refusal: event.delta });
      case 'response.reasoning_text.delta':
        return this.#reason(`${event.output_index} text ${event.content_index}`, event.delta);
      case 'response.reasoning_summary_text.delta':
        return this.#reason(`${event.output_index} summary ${event.summary_index}`, event.delta);
      case 'response.output_text.annotation.added': {
        const annotations = annotationOf(event.annotation);
        return annotations.length === 0 ? [] : this.#delta({ annotations });
      }
      case 'response.output_item.added': {
        const { item, output_index: at } = event;
        if (!isToolCall(item)) return [];
        const index = this.#calls.size;
        this.#calls.set(at, index);
        const { call_id: id, name } = item;
        const call =
          item.type === 'function_call'
            ? { type: 'function', function: { name, arguments: '' } }
            : { type: 'custom', custom: { name, input: '' } };
        return this.#delta({ tool_calls: [{ index, id, ...call }] });
      }
      case 'response.function_call_arguments.delta':
        return this.#callDelta(event.output_index, { function: { arguments: event.delta } });
      case 'response.custom_tool_call_input.delta':
        return this.#callDelta(event.output_index, { custom: { input: event.delta } });
      default:
        return [];
    }
  }

  #callDelta(outputIndex: number, delta: object): string[] {
    return this.#delta({ tool_calls: [{ index: this.#calls.get(outputIndex) ?? 0, ...delta }] });
  }

  #reason(part: string, delta: string): string[] {
    const isNext = this.#reasoning !== undefined && this.#reasoning !== part;
    this.#reasoning = part;
    return this.#delta({ reasoning_content: `${isNext ? betweenReasoning : ''}${delta}` });
  }

  #end({ response }: ToldLifecycle): string[] {
    if (this.#head === '') this.#begin({ response });
    if (response.error) return [this.#fail(response.error)];
    try {
      const finish = finishReasonOf(response);
      const usage = response.usage && usageOf(response.usage);
      return [
        ...(this.#hasRole ? [] : this.#delta({ content: '' })),
        this.#chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: finish }]),
        ...(this.#includesUsage ? [`${this.#head},"choices":[],"usage":${JSON.stringify(usage)}}`] : []),
      ];
    } catch (error) {
      if (error instanceof ServiceError) return [this.#fail(error.toBody())];
      throw error;
    }
  }

  /** The error of a failure in the middle of a stream, which OpenAI's clients throw. */
  #fail({ code, message, param }: Pick<ErrorBody, 'code' | 'message' | 'param'>): string {
    this.#hasFailed = true;
    return JSON.stringify({ error: asChatError(new ServiceError(code, message, { param })).toBody() });
  }

  #delta(delta: object, logprobs: readonly unknown[] = []): string[] {
    const role = this.#hasRole ? {} : { role: 'assistant' };
    this.#hasRole = true;
    const known = logprobs.length === 0 ? null : { content: logprobs, refusal: null };
    return [this.#chunk([{ index: 0, delta: { ...role, ...delta }, logprobs: known, finish_reason: null }])];
  }

  #chunk(choices: readonly object[]): string {
    return `${this.#head},"choices":${JSON.stringify(choices)}${this.#includesUsage ? ',"usage":null' : ''}}`;
  }
}

const told: ReadonlySet<string> = new Set<ResponseEvent['type']>([
  'response.output_text.delta',
  'response.refusal.delta',
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
  'response.output_text.annotation.added',
  'response.output_item.added',
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
]);
