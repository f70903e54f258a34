import type { Usage } from '@sluice/contract';
import type { UpstreamEvent } from '../upstream/event-stream.ts';
import { isObject, type JsonObject, listOf, objectOf, parseObject, textOf } from '../json-fields.ts';
import { urlCitationFrom } from './annotation-fields.ts';
import { endOfAnswer } from './end-of-answer.ts';
import { logprobsFrom } from './logprob-fields.ts';
import { printOpaque } from './opaque-reasoning.ts';
import type { FinishReason, ProviderChunk } from '../provider.ts';
import { brokenStream, failedInStream } from '../upstream/failure.ts';
import type { EventReader } from '../upstream/upstream-provider.ts';
import { usageFrom } from './usage-fields.ts';

type CallKind = 'function_call' | 'custom_tool_call';
type Kind = 'message' | 'reasoning' | CallKind;
type PieceKind = 'text' | 'refusal' | 'reasoning_summary' | 'reasoning_text';

interface Item {
  kind: Kind;
  phase: 'commentary' | 'final_answer' | undefined;
  /** Whether the chunk that separates it from the item before was sent. */
  isBegun: boolean;
  /** The parts that were streamed as deltas. Their closing events repeat the text and are skipped. */
  readonly streamed: Set<string>;
  hasSummary: boolean;
}

/**
 * Reads the events of one Responses stream.
 *
 * Upstream ids and sequence numbers are ignored; `output_index` identifies an item. Content that was not streamed is
 * taken from the closing event (`…done`, `output_item.done`, `response.completed`). Events and items of other types
 * are skipped.
 */
export class ResponsesReader implements EventReader {
  state: 'open' | 'finished' | 'done' = 'open';
  readonly #providerId: string;
  readonly #wantsLogprobs: boolean;
  /** The origin that encrypted reasoning is tied to; undefined when the request does not ask for it. */
  readonly #opaqueOrigin: string | undefined;
  readonly #items = new Map<number, Item>();
  #lastKind: Kind | undefined;
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
        return this.#closeItem(event['output_index'], event['item']);
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
        return this.#callText(event['output_index'], event['delta']);
      case 'response.function_call_arguments.done':
        return this.#restOfCall(event['output_index'], event['arguments']);
      case 'response.custom_tool_call_input.done':
        return this.#restOfCall(event['output_index'], event['input']);
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
    const chunks = listOf(response['output']).flatMap((item, index) => this.#closeItem(index, item));
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
    const index = event['output_index'];
    if (!item || typeof index !== 'number' || this.#items.has(index)) return [];
    const kind = item['type'];
    if (kind !== 'message' && kind !== 'reasoning' && !isCall(kind)) return [];
    const phase = item['phase'];
    this.#items.set(index, {
      kind,
      phase: phase === 'commentary' || phase === 'final_answer' ? phase : undefined,
      isBegun: false,
      streamed: new Set(),
      hasSummary: false,
    });
    return isCall(kind) ? this.#openCall(kind, index, item) : [];
  }

  #openCall(kind: CallKind, index: number, item: JsonObject): ProviderChunk[] {
    const name = textOf(item['name']);
    if (name === undefined) throw this.#malformed();
    const callId = textOf(item['call_id']);
    this.#lastKind = kind;
    return [
      {
        type: kind,
        callKey: String(index),
        name,
        // The contract limits call ids to 64 characters, so a client could not send a longer one back.
        ...(callId !== undefined && callId.length <= 64 && { callId }),
      },
    ];
  }

  /** Takes from a finished item what was not streamed. */
  #closeItem(index: unknown, value: unknown): ProviderChunk[] {
    const item = objectOf(value);
    if (!item || typeof index !== 'number') return [];
    const chunks = this.#addItem({ output_index: index, item });
    const parts = (name: string, partType: string, member: string, kind: PieceKind) => {
      listOf(item[name]).forEach((part, at) => {
        if (!isObject(part) || part['type'] !== partType) return;
        chunks.push(...this.#rest({ output_index: index, content_index: at }, kind, part[member]));
      });
    };
    switch (this.#items.get(index)?.kind) {
      case 'message':
        parts('content', 'output_text', 'text', 'text');
        parts('content', 'refusal', 'refusal', 'refusal');
        return chunks;
      case 'reasoning':
        parts('summary', 'summary_text', 'text', 'reasoning_summary');
        parts('content', 'reasoning_text', 'text', 'reasoning_text');
        return [...chunks, ...this.#opaque(index, item)];
      case 'function_call':
        return [...chunks, ...this.#restOfCall(index, textOf(item['arguments']) ?? '{}')];
      case 'custom_tool_call':
        return [...chunks, ...this.#restOfCall(index, textOf(item['input']) ?? '')];
      case undefined:
        return [];
    }
  }

  #piece(event: JsonObject, kind: PieceKind, delta: unknown): ProviderChunk[] {
    if (typeof delta !== 'string') throw this.#malformed();
    const item = this.#itemOf(event['output_index'], kind.startsWith('reasoning') ? 'reasoning' : 'message');
    // A token that ends within a character has no text of its own, and has its probability.
    const hasLogprobs = kind === 'text' && this.#wantsLogprobs && logprobsFrom(event['logprobs']).length > 0;
    if (!item || (delta === '' && !hasLogprobs)) return [];
    const chunks = this.#begin(item);
    const part = partKey(event, kind);
    if (!item.streamed.has(part)) {
      item.streamed.add(part);
      if (kind === 'reasoning_summary') {
        if (item.hasSummary) chunks.push({ type: 'summary_part' });
        item.hasSummary = true;
      }
    }
    chunks.push(kind === 'text' ? this.#textChunk(delta, event['logprobs']) : { type: kind, delta });
    return chunks;
  }

  #rest(event: JsonObject, kind: PieceKind, whole: unknown): ProviderChunk[] {
    if (typeof whole !== 'string' || typeof event['output_index'] !== 'number') return [];
    const item = this.#items.get(event['output_index']);
    if (item?.streamed.has(partKey(event, kind))) return [];
    return this.#piece(event, kind, whole);
  }

  /** The encrypted content of reasoning, once, and only while no later item has begun. */
  #opaque(index: number, value: JsonObject): ProviderChunk[] {
    const item = this.#items.get(index);
    const encrypted = value['encrypted_content'];
    if (this.#opaqueOrigin === undefined || typeof encrypted !== 'string' || encrypted === '') return [];
    if (!item || item.streamed.has('encrypted_content') || Math.max(...this.#items.keys()) !== index)
      return [];
    item.streamed.add('encrypted_content');
    const opaque = { origin: this.#opaqueOrigin, data: printOpaque(encrypted, textOf(value['id'])) };
    return [...this.#begin(item), { type: 'reasoning_opaque', opaque }];
  }

  #annotation(event: JsonObject): ProviderChunk[] {
    const annotation = urlCitationFrom(event['annotation']);
    const item = this.#itemOf(event['output_index'], 'message');
    return item && annotation ? [...this.#begin(item), { type: 'annotation', annotation }] : [];
  }

  /** A piece of the arguments of a function, or of the input of a custom tool. */
  #callText(index: unknown, delta: unknown): ProviderChunk[] {
    if (typeof delta !== 'string') throw this.#malformed();
    const item = typeof index === 'number' ? this.#items.get(index) : undefined;
    if (!item || !isCall(item.kind) || delta === '') return [];
    item.streamed.add('call');
    const type = item.kind === 'function_call' ? 'function_arguments' : 'custom_tool_input';
    return [{ type, callKey: String(index), delta }];
  }

  #restOfCall(index: unknown, whole: unknown): ProviderChunk[] {
    const item = typeof index === 'number' ? this.#items.get(index) : undefined;
    if (!item || item.streamed.has('call')) return [];
    return this.#callText(index, whole);
  }

  /** The item of an event; one that was never announced is begun by its first piece. */
  #itemOf(index: unknown, kind: Kind): Item | undefined {
    if (typeof index !== 'number') throw this.#malformed();
    const known = this.#items.get(index);
    if (known) return known.kind === kind ? known : undefined;
    const item: Item = { kind, phase: undefined, isBegun: false, streamed: new Set(), hasSummary: false };
    this.#items.set(index, item);
    return item;
  }

  /** Separates an item from the one before, if both are of the same kind or the item has a phase. */
  #begin(item: Item): ProviderChunk[] {
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

function isCall(kind: unknown): kind is CallKind {
  return kind === 'function_call' || kind === 'custom_tool_call';
}

function partKey(event: JsonObject, kind: PieceKind): string {
  const part =
    kind === 'reasoning_summary'
      ? (event['summary_index'] ?? event['content_index'])
      : event['content_index'];
  return `${kind}:${typeof part === 'number' ? part : 0}`;
}
