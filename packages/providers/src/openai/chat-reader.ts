import type { Usage } from '@sluice/contract';
import type { UpstreamEvent } from '../upstream/event-stream.ts';
import { isObject, type JsonObject, listOf, objectOf, parseObject, textOf } from '../json-fields.ts';
import { urlCitationFrom } from './annotation-fields.ts';
import { endOfAnswer, stopSequenceIn } from './end-of-answer.ts';
import { logprobsFrom } from './logprob-fields.ts';
import { ChatCalls } from './chat-calls.ts';
import type { FinishReason, ProviderChunk } from '../provider.ts';
import { brokenStream, failedInStream } from '../upstream/failure.ts';
import type { EventReader } from '../upstream/upstream-provider.ts';
import { usageFrom } from './usage-fields.ts';

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['tool_calls', 'function_call'],
  ['function_call', 'function_call'],
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
  // Reasons of servers that pass on the word of their engine.
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'function_call'],
  ['max_tokens', 'max_output_tokens'],
]);

/**
 * Reads the chunks of one chat completion stream.
 *
 * The answer is complete only with a finish reason; `[DONE]` alone does not suffice. An unknown finish reason (an
 * abort, a failure of the engine) counts as a failure, because the text may be incomplete.
 */
export class ChatReader implements EventReader {
  state: 'open' | 'finished' | 'done' = 'open';
  readonly #providerId: string;
  readonly #wantsLogprobs: boolean;
  /** Most answers have none. */
  #calls: ChatCalls | undefined;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;
  readonly #stop: readonly string[];
  #stopSequence: string | undefined;
  #hasBegun = false;
  /** Texts of white space alone, before anything else. */
  #blank: ProviderChunk[] = [];

  /** `stop` has the texts before which the answer may end. */
  constructor(providerId: string, wantsLogprobs: boolean, stop: readonly string[] = []) {
    this.#providerId = providerId;
    this.#wantsLogprobs = wantsLogprobs;
    this.#stop = stop;
  }

  read({ data }: UpstreamEvent): ProviderChunk[] {
    if (data === '[DONE]') {
      this.state = 'done';
      return [];
    }
    const chunk = parseObject(data);
    if (!chunk) throw this.#malformed();
    if (chunk['error']) throw failedInStream(this.#providerId, chunk['error']);
    this.#usage = usageFrom(chunk['usage']) ?? this.#usage;
    const choices = chunk['choices'];
    if (choices == null) return [];
    if (!Array.isArray(choices)) throw this.#malformed();
    // The request asked for one choice; others are ignored.
    const choice: unknown = choices.find((each) => !isObject(each) || (each['index'] ?? 0) === 0);
    if (choice === undefined) return [];
    if (!isObject(choice)) throw this.#malformed();
    if (choice['error']) throw failedInStream(this.#providerId, choice['error']);
    return this.#readChoice(choice);
  }

  end(): ProviderChunk[] {
    return endOfAnswer(this.#providerId, {
      finish: this.#finish,
      usage: this.#usage,
      stopSequence: this.#stopSequence,
    });
  }

  #readChoice(choice: JsonObject): ProviderChunk[] {
    const chunks = this.#withoutBlank(this.#readDelta(objectOf(choice['delta']) ?? {}, choice));
    const reason = choice['finish_reason'];
    if (reason == null || reason === '') return chunks;
    const finish = typeof reason === 'string' ? finishReasons.get(reason) : undefined;
    if (finish === undefined) throw brokenStream(this.#providerId, 'stopped for a reason that is no finish');
    if (this.#calls?.hasNamelessCall === true) throw this.#malformed();
    this.#finish = finish;
    // The names of vLLM and SGLang. Either may be the number of a token as well.
    this.#stopSequence = stopSequenceIn(this.#stop, choice['stop_reason'] ?? choice['matched_stop']);
    if (this.state === 'open') this.state = 'finished';
    const calls = this.#withoutBlank(this.#calls?.end() ?? []);
    // An answer of white space alone is an answer.
    return [...chunks, ...calls, ...this.#blank.splice(0)];
  }

  /**
   * Leaves out white space before reasoning or a call. Some servers send a line break first, which would be a message of its own, and no JSON
   * where that was asked for.
   */
  #withoutBlank(chunks: ProviderChunk[]): ProviderChunk[] {
    if (this.#hasBegun) return chunks;
    const at = chunks.findIndex((chunk) => !isBlank(chunk));
    if (at === -1) {
      this.#blank.push(...chunks);
      return [];
    }
    this.#hasBegun = true;
    const blank = [...this.#blank.splice(0), ...chunks.slice(0, at)];
    const rest = chunks.slice(at);
    return isOfMessage(rest[0]) ? [...blank, ...rest] : rest;
  }

  #readDelta(delta: JsonObject, choice: JsonObject): ProviderChunk[] {
    const chunks: ProviderChunk[] = [];
    // vLLM sends the same delta under both names while it renames the field.
    const reasoning = this.#text(delta, 'reasoning_content') ?? this.#text(delta, 'reasoning');
    if (reasoning !== undefined) chunks.push({ type: 'reasoning_text', delta: reasoning });
    const text = this.#textChunk(this.#text(delta, 'content'), choice);
    if (text) chunks.push(text);
    const refusal = this.#text(delta, 'refusal');
    if (refusal !== undefined) chunks.push({ type: 'refusal', delta: refusal });
    for (const each of listOf(delta['annotations'])) {
      const annotation = urlCitationFrom(each);
      if (annotation) chunks.push({ type: 'annotation', annotation });
    }
    if (chunks.length > 0 && this.#calls) chunks.unshift(...this.#calls.flush());
    for (const piece of listOf(delta['tool_calls'])) {
      if (!isObject(piece)) throw this.#malformed();
      chunks.push(...(this.#calls ??= new ChatCalls()).read(piece));
    }
    const legacy = objectOf(delta['function_call']);
    if (legacy) chunks.push(...(this.#calls ??= new ChatCalls()).read({ index: 0, function: legacy }));
    return chunks;
  }

  #text(delta: JsonObject, name: string): string | undefined {
    const value = delta[name];
    if (value != null && typeof value !== 'string') throw this.#malformed();
    return textOf(value);
  }

  #malformed() {
    return brokenStream(this.#providerId, 'sent a malformed chunk');
  }

  /** A token that ends within a character has no text of its own, and has its probability. */
  #textChunk(delta: string | undefined, choice: JsonObject): ProviderChunk | undefined {
    const given = this.#wantsLogprobs ? objectOf(choice['logprobs']) : undefined;
    const logprobs = given && logprobsFrom(given['content']);
    if (delta === undefined && !logprobs?.length) return undefined;
    return { type: 'text', delta: delta ?? '', ...(logprobs && { logprobs }) };
  }
}

function isBlank(chunk: ProviderChunk): boolean {
  return chunk.type === 'text' && chunk.delta.trim() === '';
}

function isOfMessage(chunk: ProviderChunk | undefined): boolean {
  return chunk?.type === 'text' || chunk?.type === 'refusal' || chunk?.type === 'annotation';
}
