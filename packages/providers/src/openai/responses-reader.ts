import type { Usage } from '@sluice/contract';
import type { UpstreamEvent } from '../upstream/event-stream.ts';
import { type JsonObject, listOf, objectOf, parseObject, textOf } from '../json-fields.ts';
import { urlCitationFrom } from './annotation-fields.ts';
import { endOfAnswer } from './end-of-answer.ts';
import { logprobsFrom } from './logprob-fields.ts';
import { printOpaque } from './opaque-reasoning.ts';
import type { FinishReason, ProviderChunk } from '../provider.ts';
import { brokenStream, failedInStream } from '../upstream/failure.ts';
import type { EventReader } from '../upstream/upstream-provider.ts';
import {
  type CallKind,
  isCall,
  type ItemKind,
  itemKindOf,
  itemOfPiece,
  partKey,
  type PieceKind,
  type StreamedItem,
  StreamedItems,
  textsIn,
} from './streamed-items.ts';
import { usageFrom } from './usage-fields.ts';

/**
 * Reads the events of one Responses stream.
 *
 * Content that was not streamed is taken from the closing event (`…done`, `output_item.done`, `response.completed`). What
 * was streamed is known by its item and kind: servers number the parts of an item in their own ways, and vLLM counts on with
 * each piece. Events and items of other types are skipped.
 */
export class ResponsesReader implements EventReader {
  state: 'open' | 'finished' | 'done' = 'open';
  readonly #providerId: string;
  readonly #wantsLogprobs: boolean;
  /** The origin that encrypted reasoning is tied to; undefined when the request does not ask for it. */
  readonly #opaqueOrigin: string | undefined;
  readonly #items = new StreamedItems();
  #lastKind: ItemKind | undefined;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;

  constructor(
    providerId: string,
    { wantsLogprobs, opaqueOrigin }: { wantsLogprobs: boolean; opaqueOrigin?: string | undefined },
  ) {
    this.#providerId = providerId;
    this.#wantsLogprobs = wantsLogprobs;
    this.#opaqueOrigin = opaqueOrigin;
  }

  read({ name, data }: UpstreamEvent): ProviderChunk[] {
    if (data === '[DONE]') {
      this.state = 'done';
      return [];
    }
    const event = parseObject(data);
    if (!event) throw this.#malformed();
    const type = textOf(event['type']) ?? name;
    if (type === 'error' || (type === undefined && event['error'])) {
      throw failedInStream(this.#providerId, objectOf(event['error']) ?? event);
    }
    switch (type ?? '') {
      case 'response.output_item.added':
        return this.#addItem(event);
      case 'response.output_item.done':
        return this.#closeItem(event, (kind) => this.#items.closedBy(event, kind));
      case 'response.output_text.delta':
        return this.#piece(event, 'text', event['delta']);
      case 'response.output_text.done':
        return this.#rest(event, 'text', event['text']);
      case 'response.output_text.annotation.added':
        return this.#annotation(event);
      case 'response.refusal.delta':
        return this.#piece(event, 'refusal', event['delta']);
      case 'response.refusal.done':
        return this.#rest(event, 'refusal', event['refusal']);
      case 'response.reasoning_summary_text.delta':
        return this.#piece(event, 'reasoning_summary', event['delta']);
      case 'response.reasoning_summary_text.done':
        return this.#rest(event, 'reasoning_summary', event['text']);
      case 'response.reasoning_text.delta':
      case 'response.reasoning.delta':
        return this.#piece(event, 'reasoning_text', event['delta']);
      case 'response.reasoning_text.done':
      case 'response.reasoning.done':
        return this.#rest(event, 'reasoning_text', event['text']);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#callText(
          this.#items.ofPiece(event, ['function_call', 'custom_tool_call']),
          event['delta'],
        );
      case 'response.function_call_arguments.done':
        return this.#restOfCall(this.#items.closedBy(event, 'function_call'), event['arguments']);
      case 'response.custom_tool_call_input.done':
        return this.#restOfCall(this.#items.closedBy(event, 'custom_tool_call'), event['input']);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#terminal(type ?? '', objectOf(event['response']));
      default:
        return [];
    }
  }

  end(): ProviderChunk[] {
    return endOfAnswer(this.#providerId, { finish: this.#finish, usage: this.#usage });
  }

  #terminal(type: string, response: JsonObject | undefined): ProviderChunk[] {
    if (!response) throw this.#malformed();
    if (type === 'response.failed') throw failedInStream(this.#providerId, response['error']);
    const chunks = this.#closeAll(listOf(response['output']));
    this.#usage = usageFrom(response['usage']);
    if (type === 'response.completed') {
      this.#finish = 'stop';
    } else {
      const reason = objectOf(response['incomplete_details'])?.['reason'];
      if (reason !== 'max_output_tokens' && reason !== 'content_filter') {
        throw brokenStream(this.#providerId, 'left its answer incomplete');
      }
      this.#finish = reason;
    }
    this.state = 'done';
    return chunks;
  }

  #addItem(event: JsonObject): ProviderChunk[] {
    const item = objectOf(event['item']);
    const kind = item && itemKindOf(item);
    if (!kind || this.#items.announcedBy(event)) return [];
    const added = this.#items.add(kind, event);
    return isCall(kind) ? this.#openCall(kind, added, item) : [];
  }

  #openCall(kind: CallKind, { place }: StreamedItem, item: JsonObject): ProviderChunk[] {
    const name = textOf(item['name']);
    if (name === undefined) throw this.#malformed();
    const callId = textOf(item['call_id']);
    this.#lastKind = kind;
    return [
      {
        type: kind,
        callKey: String(place),
        name,
        // The contract limits call ids to 64 characters, so a client could not send a longer one back.
        ...(callId !== undefined && callId.length <= 64 && { callId }),
      },
    ];
  }

  #closeAll(output: readonly unknown[]): ProviderChunk[] {
    const counts = new Map<ItemKind, number>();
    return output.flatMap((item) =>
      this.#closeItem({ item }, (kind, value) => {
        const at = counts.get(kind) ?? 0;
        counts.set(kind, at + 1);
        return this.#items.repeatedBy(value, kind, at);
      }),
    );
  }

  /** Takes from a finished item what was not streamed. */
  #closeItem(
    event: JsonObject,
    find: (kind: ItemKind, item: JsonObject) => StreamedItem | undefined,
  ): ProviderChunk[] {
    const value = objectOf(event['item']);
    const kind = value && itemKindOf(value);
    if (!kind) return [];
    const known = find(kind, value);
    const item = known ?? this.#items.add(kind, event);
    const rest = (name: string, partType: string, member: string, pieceKind: PieceKind) =>
      this.#restOfParts(item, pieceKind, textsIn(value[name], partType, member));
    switch (kind) {
      case 'message':
        return [
          ...rest('content', 'output_text', 'text', 'text'),
          ...rest('content', 'refusal', 'refusal', 'refusal'),
        ];
      case 'reasoning':
        return [
          ...rest('summary', 'summary_text', 'text', 'reasoning_summary'),
          ...rest('content', 'reasoning_text', 'text', 'reasoning_text'),
          ...this.#opaque(item, value),
        ];
      case 'function_call':
      case 'custom_tool_call': {
        const opening = known ? [] : this.#openCall(kind, item, value);
        const whole =
          kind === 'function_call' ? (textOf(value['arguments']) ?? '{}') : textOf(value['input']);
        return [...opening, ...this.#restOfCall(item, whole ?? '')];
      }
    }
  }

  #piece(event: JsonObject, kind: PieceKind, delta: unknown): ProviderChunk[] {
    if (typeof delta !== 'string') throw this.#malformed();
    const item = this.#itemOf(event, itemOfPiece(kind));
    if (!item) return [];
    if (delta !== '') item.unclosed.add(kind);
    return this.#say(item, { kind, part: partKey(event, kind), delta, logprobs: event['logprobs'] });
  }

  #say(
    item: StreamedItem,
    { kind, part, delta, logprobs }: { kind: PieceKind; part: string; delta: string; logprobs?: unknown },
  ): ProviderChunk[] {
    // A token that ends within a character has no text of its own, and has its probability.
    const hasLogprobs = kind === 'text' && this.#wantsLogprobs && logprobsFrom(logprobs).length > 0;
    if (delta === '' && !hasLogprobs) return [];
    const chunks = this.#begin(item);
    const before = item.said.get(kind);
    if (kind === 'reasoning_summary' && before !== undefined && !item.parts.has(part))
      chunks.push({ type: 'summary_part' });
    item.parts.add(part);
    item.said.set(kind, `${before ?? ''}${delta}`);
    chunks.push(kind === 'text' ? this.#textChunk(delta, logprobs) : { type: kind, delta });
    return chunks;
  }

  /** A part that is done, unless it was streamed. */
  #rest(event: JsonObject, kind: PieceKind, whole: unknown): ProviderChunk[] {
    if (typeof whole !== 'string') return [];
    const itemKind = itemOfPiece(kind);
    const item = this.#items.closedBy(event, itemKind) ?? this.#items.add(itemKind, event);
    const part = partKey(event, kind);
    const isStreamed = item.unclosed.delete(kind) || item.parts.has(part);
    return isStreamed ? [] : this.#say(item, { kind, part, delta: whole, logprobs: event['logprobs'] });
  }

  /** The rest that the parts of a finished item have behind that which was streamed; nothing if they begin in another way. */
  #restOfParts(item: StreamedItem, kind: PieceKind, texts: ReadonlyMap<number, string>): ProviderChunk[] {
    const said = item.said.get(kind) ?? '';
    if (![...texts.values()].join('').startsWith(said)) return [];
    let known = said.length;
    return [...texts].flatMap(([at, text]) => {
      const delta = text.slice(known);
      known = Math.max(0, known - text.length);
      return this.#say(item, { kind, part: `${kind}:${at}`, delta });
    });
  }

  /** The encrypted content of reasoning, once, and only while no later item has begun. */
  #opaque(item: StreamedItem, value: JsonObject): ProviderChunk[] {
    const encrypted = value['encrypted_content'];
    if (this.#opaqueOrigin === undefined || typeof encrypted !== 'string' || encrypted === '') return [];
    if (item.hasOpaque || item !== this.#items.last) return [];
    item.hasOpaque = true;
    const opaque = { origin: this.#opaqueOrigin, data: printOpaque(encrypted, textOf(value['id'])) };
    return [...this.#begin(item), { type: 'reasoning_opaque', opaque }];
  }

  #annotation(event: JsonObject): ProviderChunk[] {
    const annotation = urlCitationFrom(event['annotation']);
    const item = this.#itemOf(event, 'message');
    return item && annotation ? [...this.#begin(item), { type: 'annotation', annotation }] : [];
  }

  /** A piece of the arguments of a function, or of the input of a custom tool. */
  #callText(item: StreamedItem | undefined, delta: unknown): ProviderChunk[] {
    if (typeof delta !== 'string') throw this.#malformed();
    if (!item || !isCall(item.kind) || delta === '') return [];
    item.hasCallText = true;
    const type = item.kind === 'function_call' ? 'function_arguments' : 'custom_tool_input';
    return [{ type, callKey: String(item.place), delta }];
  }

  #restOfCall(item: StreamedItem | undefined, whole: unknown): ProviderChunk[] {
    return !item || item.hasCallText ? [] : this.#callText(item, whole);
  }

  /** The item of an event; one that was never announced is begun by its first piece. */
  #itemOf(event: JsonObject, kind: ItemKind): StreamedItem | undefined {
    const known = this.#items.ofPiece(event, [kind]);
    if (known) return known.kind === kind ? known : undefined;
    return this.#items.add(kind, event);
  }

  /** Separates an item from the one before, if both are of the same kind or the item has a phase. */
  #begin(item: StreamedItem): ProviderChunk[] {
    if (item.isBegun || isCall(item.kind)) return [];
    item.isBegun = true;
    const follows = this.#lastKind === item.kind;
    this.#lastKind = item.kind;
    if (item.kind === 'reasoning') return follows ? [{ type: 'reasoning' }] : [];
    if (item.phase !== undefined) return [{ type: 'message', phase: item.phase }];
    return follows ? [{ type: 'message' }] : [];
  }

  #textChunk(delta: string, logprobs: unknown): ProviderChunk {
    const shown = this.#wantsLogprobs ? logprobsFrom(logprobs) : [];
    return { type: 'text', delta, ...(shown.length > 0 && { logprobs: shown }) };
  }

  #malformed() {
    return brokenStream(this.#providerId, 'sent a malformed event');
  }
}
