import {
  type ErrorBody,
  isTerminalType,
  isToolCall,
  type OutputItem,
  type ResponseEvent,
  ServiceError,
} from '@sluice/contract';
import { betweenReasoning, lifecycleEvent, type ToldLifecycle } from '../response-facts.ts';
import { type ContentBlock, emptyMessage, type MessageFrame, stopOf, toolUseOf, usageOf } from './message.ts';
import { messageErrorOf } from './message-params.ts';
import type { MessageDelivery } from './message-request.ts';
import { ObjectScan } from './object-scan.ts';

type Delta = Extract<MessageFrame, { type: 'content_block_delta' }>['delta'];

/** An event of a response, and the long texts that marks in it stand for. */
export interface GivenEvent<Texts> {
  type: string;
  json: string;
  texts?: Texts | undefined;
}

/** A frame of a stream, and the long texts that marks in it stand for. They may be those of an event that has waited. */
export interface TextedFrame<Texts> {
  frame: MessageFrame;
  texts: Texts | undefined;
}

/** An event that is about an item of the output. */
type ItemEvent = Extract<ResponseEvent, { output_index: number }>;

interface WaitingEvent<Texts> {
  event: ItemEvent;
  texts: Texts | undefined;
}

/** The item whose blocks are told. */
interface CurrentItem {
  at: number;
  /**
   * The arguments of a call so far; undefined for other items, and for a call with a long text. What that is cannot be seen in its mark, so
   * such a call is whole when it is done.
   */
  call: ObjectScan | undefined;
  /** The part of reasoning that was told last. */
  part?: string;
}

/**
 * Turns the events of a response into the frames of a message, in their order. One serves one stream.
 *
 * A message has one block after the other, while calls of a response are all open until it ends, and may grow in turns. So events of other
 * items wait until the item that is told is done, or is a call whose arguments are whole.
 *
 * Texts stay as they are, also marks that stand for long ones. Events that repeat what was said bring nothing.
 */
export class MessageEvents<Texts = never> {
  readonly #thinking: MessageDelivery['thinking'];
  readonly #requestId: string;
  #hasBegun = false;
  #blocks = 0;
  #isBlockOpen = false;
  #current: CurrentItem | undefined;
  /** The events of items that wait, in the order of the items. */
  readonly #waiting = new Map<number, WaitingEvent<Texts>[]>();
  /** Calls that were whole before they were done. */
  readonly #told = new Set<number>();

  constructor({ thinking }: MessageDelivery, requestId: string) {
    this.#thinking = thinking;
    this.#requestId = requestId;
  }

  /** The frames that an event becomes. */
  of({ type, json, texts }: GivenEvent<Texts>): TextedFrame<Texts>[] {
    if (isTerminalType(type)) return this.#end(lifecycleEvent(json), texts);
    if (type === 'response.created') return withTexts(texts, this.#begin(lifecycleEvent(json)));
    if (!told.has(type)) return [];
    // A worker has written it by the table of events.
    return this.#take({ event: JSON.parse(json) as ItemEvent, texts });
  }

  #begin({ response }: ToldLifecycle): MessageFrame[] {
    this.#hasBegun = true;
    return [{ type: 'message_start', message: emptyMessage(response) }];
  }

  #take(given: WaitingEvent<Texts>): TextedFrame<Texts>[] {
    const { output_index: at } = given.event;
    if (this.#told.has(at)) return [];
    if (!this.#current || this.#current.at === at) return [...this.#tell(given), ...this.#passOn()];
    const waiting = this.#waiting.get(at);
    if (waiting) waiting.push(given);
    else this.#waiting.set(at, [given]);
    return this.#passOn();
  }

  #tell({ event, texts }: WaitingEvent<Texts>): TextedFrame<Texts>[] {
    this.#current ??= { at: event.output_index, call: undefined };
    const frames = this.#content(event, this.#current, texts !== undefined);
    if (event.type === 'response.output_item.done') frames.push(...this.#leave());
    return withTexts(texts, frames);
  }

  /** Goes on with the next items, while one waits and nothing comes any more that is a part of this one. */
  #passOn(): TextedFrame<Texts>[] {
    const frames: TextedFrame<Texts>[] = [];
    for (const [at, events] of this.#waiting) {
      if (this.#current) {
        if (this.#current.call?.isWhole !== true) break;
        this.#told.add(this.#current.at);
        frames.push(...withTexts<Texts>(undefined, this.#leave()));
      }
      this.#waiting.delete(at);
      for (const event of events) frames.push(...this.#tell(event));
    }
    return frames;
  }

  #leave(): MessageFrame[] {
    this.#current = undefined;
    return this.#closeBlock();
  }

  /** At the end, also items are told that are not done, such as a call that was cut off. */
  #leaveAll(): TextedFrame<Texts>[] {
    const leave = () => withTexts<Texts>(undefined, this.#leave());
    const frames = leave();
    while (this.#waiting.size > 0) {
      // One by one: as arguments of one call, the frames of very many calls do not fit the stack.
      for (const frame of this.#passOn()) frames.push(frame);
      frames.push(...leave());
    }
    return frames;
  }

  #content(event: ItemEvent, current: CurrentItem, mayBeLong: boolean): MessageFrame[] {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#delta({ type: 'text', text: '', citations: null }, event.delta, (text) => ({
          type: 'text_delta',
          text,
        }));
      case 'response.content_part.added':
        // Reasoning is one block, whatever its parts.
        return event.part.type === 'reasoning_text' ? [] : this.#closeBlock();
      case 'response.reasoning_text.delta':
        return this.#think(`text ${event.content_index}`, event.delta, current);
      case 'response.reasoning_summary_text.delta':
        return this.#think(`summary ${event.summary_index}`, event.delta, current);
      case 'response.output_item.added':
        if (!isToolCall(event.item)) return [];
        current.call = new ObjectScan();
        return event.item.type === 'function_call' ? this.#openBlock(toolUseOf(event.item)) : [];
      case 'response.function_call_arguments.delta': {
        if (mayBeLong) current.call = undefined;
        else current.call?.take(utf8.encode(event.delta));
        const delta: Delta = { type: 'input_json_delta', partial_json: event.delta };
        return event.delta === '' ? [] : [this.#inBlock(delta)];
      }
      case 'response.output_item.done':
        return event.item.type === 'reasoning' ? this.#sign(event.item) : [];
      default:
        return [];
    }
  }

  #think(part: string, delta: string, current: CurrentItem): MessageFrame[] {
    if (this.#thinking !== 'summarized' || delta === '') return [];
    const isNext = current.part !== undefined && current.part !== part;
    current.part = part;
    return this.#delta(noThinking, `${isNext ? betweenReasoning : ''}${delta}`, (thinking) => ({
      type: 'thinking_delta',
      thinking,
    }));
  }

  /** Only when reasoning is done is it known whether it has a text, and what brings it back. */
  #sign({ encrypted_content: signature = '' }: Extract<OutputItem, { type: 'reasoning' }>): MessageFrame[] {
    if (this.#thinking === 'none' || signature === '') return [];
    if (this.#isBlockOpen) return [this.#inBlock({ type: 'signature_delta', signature })];
    if (this.#thinking === 'summarized')
      return this.#openBlock({ type: 'redacted_thinking', data: signature });
    return [...this.#openBlock(noThinking), this.#inBlock({ type: 'signature_delta', signature })];
  }

  #delta(block: ContentBlock, text: string, deltaOf: (text: string) => Delta): MessageFrame[] {
    if (text === '') return [];
    const opening = this.#isBlockOpen ? [] : this.#openBlock(block);
    return [...opening, this.#inBlock(deltaOf(text))];
  }

  #openBlock(block: ContentBlock): MessageFrame[] {
    this.#isBlockOpen = true;
    return [{ type: 'content_block_start', index: this.#blocks, content_block: block }];
  }

  #inBlock(delta: Delta): MessageFrame {
    return { type: 'content_block_delta', index: this.#blocks, delta };
  }

  #closeBlock(): MessageFrame[] {
    if (!this.#isBlockOpen) return [];
    this.#isBlockOpen = false;
    const index = this.#blocks;
    this.#blocks += 1;
    return [{ type: 'content_block_stop', index }];
  }

  #end(event: ToldLifecycle, texts: Texts | undefined): TextedFrame<Texts>[] {
    return [
      ...(this.#hasBegun ? [] : withTexts(texts, this.#begin(event))),
      ...this.#leaveAll(),
      ...withTexts(texts, this.#last(event)),
    ];
  }

  #last({ response }: ToldLifecycle): MessageFrame[] {
    if (response.error) return [this.#fail(response.error)];
    try {
      const delta = stopOf(response);
      return [{ type: 'message_delta', delta, usage: usageOf(response.usage) }, { type: 'message_stop' }];
    } catch (error) {
      if (error instanceof ServiceError) return [this.#fail(error.toBody())];
      throw error;
    }
  }

  /** The error of a failure in the middle of a stream, which Anthropic's clients throw. */
  #fail({ code, message, param }: Pick<ErrorBody, 'code' | 'message' | 'param'>): MessageFrame {
    return messageErrorOf(new ServiceError(code, message, { param }), this.#requestId);
  }
}

function withTexts<Texts>(texts: Texts | undefined, frames: readonly MessageFrame[]): TextedFrame<Texts>[] {
  return frames.map((frame) => ({ frame, texts }));
}

const utf8 = new TextEncoder();

const told: ReadonlySet<string> = new Set<ItemEvent['type']>([
  'response.output_item.added',
  'response.output_item.done',
  'response.content_part.added',
  'response.output_text.delta',
  'response.refusal.delta',
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
  'response.function_call_arguments.delta',
]);

const noThinking: ContentBlock = { type: 'thinking', thinking: '', signature: '' };
