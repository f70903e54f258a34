import type { OpaqueReasoning, Usage } from '@sluice/contract';
import { isObject, type JsonObject, objectOf } from '../json-fields.ts';
import { urlCitationFrom } from '../openai/annotation-fields.ts';
import { endOfAnswer, stopSequenceIn } from '../openai/end-of-answer.ts';
import { type FinishReason, type ProviderChunk, ProviderError } from '../provider.ts';
import { brokenStream } from '../upstream/failure.ts';
import type { EventReader } from '../upstream/upstream-provider.ts';
import { failureOf } from './failure.ts';
import { SdkCalls } from './sdk-calls.ts';
import type { SignedReasoning } from './signed-reasoning.ts';
import { usageOf } from './usage.ts';

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['tool-calls', 'function_call'],
  ['length', 'max_output_tokens'],
  ['content-filter', 'content_filter'],
]);

/**
 * Reads the parts of one stream of a language model.
 *
 * The answer is complete only with a finish that says why the model stopped. `other` and `interrupted`, which packages send
 * for a stream that was cut, count as failures, because the text may be incomplete. Files that a model makes are left out:
 * the Responses API has no item for them. Text blocks that follow each other are one text: Anthropic splits an answer at
 * its citations.
 *
 * The signature of a vendor on its reasoning is passed on unchanged, and comes back in `prompt-messages.ts`. Google also signs
 * tool calls. A call of the Responses API has no place for that, so it is left out.
 */
export class PartReader implements EventReader<unknown> {
  readonly #providerId: string;
  readonly #calls: SdkCalls;
  readonly #signed: SignedReasoning;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;
  readonly #stop: readonly string[];
  #stopSequence: string | undefined;
  /** The length of the text that is open. */
  #textLength = 0;
  /** Sources that came before any text. */
  #sources: JsonObject[] = [];

  /** `stop` has the texts before which the answer may end. */
  constructor(providerId: string, signed: SignedReasoning, stop: readonly string[] = []) {
    this.#providerId = providerId;
    this.#stop = stop;
    this.#calls = new SdkCalls(providerId);
    this.#signed = signed;
  }

  /** `finished` is not for good: a package that continues an answer sends more after a finish. */
  get state(): 'open' | 'finished' {
    return this.#finish === undefined ? 'open' : 'finished';
  }

  /** @throws {ProviderError} for an error part and for a malformed one. */
  read(part: unknown): ProviderChunk[] {
    if (!isObject(part)) throw this.#malformed();
    switch (part['type']) {
      case 'text-delta':
        return this.#more(this.#text(this.#delta(part)));
      case 'reasoning-start':
        this.#textLength = 0;
        this.#signed.begin();
        this.#signed.add(part);
        return [{ type: 'reasoning' }];
      case 'reasoning-delta':
        this.#signed.add(part);
        return this.#more(chunkOf('reasoning_text', this.#delta(part)));
      case 'reasoning-end':
        this.#signed.add(part);
        return this.#more(signedChunk(this.#signed.end()));
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-call':
        this.#textLength = 0;
        return this.#more(this.#calls.read(part));
      case 'source':
        return this.#source(part);
      case 'finish':
        this.#end(part);
        return [];
      case 'error':
        throw failureOf(this.#providerId, part['error'], { isStreaming: true });
      default:
        return [];
    }
  }

  /**
   * Usage and finish, once the stream has ended.
   *
   * @throws {ProviderError} when the model never said that it finished.
   */
  end(): ProviderChunk[] {
    return endOfAnswer(this.#providerId, {
      finish: this.#finish,
      usage: this.#usage,
      stopSequence: this.#stopSequence,
    });
  }

  /** Content after a finish: the answer goes on. */
  #more(chunks: ProviderChunk[]): ProviderChunk[] {
    if (chunks.length > 0) this.#finish = undefined;
    return chunks;
  }

  #text(delta: string): ProviderChunk[] {
    const chunks = chunkOf('text', delta);
    this.#textLength += delta.length;
    if (chunks.length === 0 || this.#sources.length === 0) return chunks;
    const sources = this.#sources.splice(0);
    return [...chunks, ...sources.flatMap((source) => this.#citation(source))];
  }

  #source(part: JsonObject): ProviderChunk[] {
    if (part['sourceType'] !== 'url') return [];
    if (this.#textLength > 0) return this.#citation(part);
    this.#sources.push(part);
    return [];
  }

  /** A source belongs to the text so far, without saying to which words of it. */
  #citation({ url, title }: JsonObject): ProviderChunk[] {
    const place = { start_index: 0, end_index: this.#textLength };
    const annotation = urlCitationFrom({ type: 'url_citation', url, title, ...place });
    return annotation ? [{ type: 'annotation', annotation }] : [];
  }

  #end(part: JsonObject): void {
    const given = part['finishReason'];
    // Version 2 of the specification has the word itself.
    const reason = isObject(given) ? given['unified'] : given;
    if (reason === 'error') {
      throw new ProviderError('model_error', `The model of provider '${this.#providerId}' failed.`, {
        disposition: 'retry',
      });
    }
    if (reason === 'interrupted') throw brokenStream(this.#providerId, 'ended its stream without finishing');
    const finish = typeof reason === 'string' ? finishReasons.get(reason) : undefined;
    if (finish === undefined) throw brokenStream(this.#providerId, 'stopped for a reason that is no finish');
    this.#finish = finish;
    this.#stopSequence = this.#stopSequenceIn(objectOf(part['providerMetadata']));
    this.#usage = usageOf(part) ?? this.#usage;
  }

  /** A package tells of it under the name of its vendor. */
  #stopSequenceIn(metadata: JsonObject = {}): string | undefined {
    return Object.values(metadata)
      .map((told) => stopSequenceIn(this.#stop, objectOf(told)?.['stopSequence']))
      .find((text) => text !== undefined);
  }

  #delta(part: JsonObject): string {
    const delta = part['delta'];
    if (typeof delta !== 'string') throw this.#malformed();
    return delta;
  }

  #malformed() {
    return brokenStream(this.#providerId, 'sent a malformed part');
  }
}

function chunkOf(type: 'text' | 'reasoning_text', delta: string): ProviderChunk[] {
  return delta === '' ? [] : [{ type, delta }];
}

function signedChunk(opaque: OpaqueReasoning | undefined): ProviderChunk[] {
  return opaque ? [{ type: 'reasoning_opaque', opaque }] : [];
}
