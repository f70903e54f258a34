import type { Annotation, FailureCode, Generation, Logprob, OpaqueReasoning, Usage } from '@sluice/contract';

/** The arguments of a call besides the generation. */
export interface ProviderCall {
  /** The upstream's own name for the model. */
  model: string;
  /** Ends the call: the upstream's connection is closed at once, and the iteration rejects with the signal's reason. */
  signal: AbortSignal;
  responseId: string;
  /** Counts runs of the same response, from 1. */
  attempt: number;
  /** Where the call stands in a trace, as the header of W3C Trace Context; undefined to tell nobody. */
  traceparent?: string | undefined;
  /** Slows the reading of the answer; undefined to read as fast as chunks are taken. */
  pace?: ReadPace | undefined;
}

/**
 * A provider reports here how much it reads from its upstream, besides its chunks, so that no answer takes more than its
 * share of the process. It must await a returned promise before it reads on. The promise never rejects, and settles with the
 * signal of the call at the latest. The time until then does not count as silence of the upstream.
 */
export interface ReadPace {
  /**
   * An event of so many characters was read, and any chunks of it were taken. `hasOutput` is false for an event without output.
   *
   * @throws {ProviderError} when there were too many without output.
   */
  took(characters: number, event: { hasOutput: boolean }): Promise<void> | undefined;
  /** So many characters were read and not taken yet. Called after each read, which may bring no whole event. */
  readAhead(characters: number, read: { hasEvents: boolean }): Promise<void> | undefined;
}

/**
 * A piece of a provider's stream, in the order the model produced it.
 *
 * A chunk belongs to the item that is open: text to the current message, arguments to the call of their
 * `callKey`. The worker opens and closes items as the kinds change, so a provider sends `message`, `reasoning`
 * and `summary_part` only where the upstream itself separates two items or parts of the same kind.
 */
export type ProviderChunk =
  | { type: 'message'; phase?: 'commentary' | 'final_answer' }
  | { type: 'text'; delta: string; logprobs?: Logprob[] }
  | { type: 'annotation'; annotation: Annotation }
  | { type: 'refusal'; delta: string }
  | { type: 'reasoning' }
  | { type: 'summary_part' }
  | { type: 'reasoning_summary'; delta: string }
  | { type: 'reasoning_text'; delta: string }
  /**
   * Data that the upstream wants back with the open reasoning, or with the one that this begins. It is sent once, after the
   * text. The same provider finds it in `opaque` of the reasoning item of a later generation. Only sent to requests that
   * include `reasoning.encrypted_content`.
   */
  | { type: 'reasoning_opaque'; opaque: OpaqueReasoning }
  /** Opens a function call. `callKey` tells parallel calls of one stream apart; `callId` is the upstream's, if it has one. */
  | { type: 'function_call'; callKey: string; callId?: string; name: string }
  | { type: 'function_arguments'; callKey: string; delta: string }
  /** The same for a custom tool, whose input is a text. */
  | { type: 'custom_tool_call'; callKey: string; callId?: string; name: string }
  | { type: 'custom_tool_input'; callKey: string; delta: string }
  | { type: 'usage'; usage: Usage }
  /** `stopSequence` is the text of the request's `stop` before which the model has stopped, where the upstream says which it was. */
  | { type: 'finish'; reason: FinishReason; stopSequence?: string };

/** Why the model stopped. A stream that ends without saying so has failed. */
export type FinishReason = 'stop' | 'function_call' | 'max_output_tokens' | 'content_filter';

export interface Provider {
  readonly id: string;
  /**
   * Runs the model once and yields its chunks as they arrive.
   *
   * Rejects with a `ProviderError` when the upstream fails, and with the signal's reason when it is aborted.
   * A stream that ends without `finish` counts as a failure. Breaking out of the iteration closes the upstream's
   * connection.
   */
  generate(generation: Generation, call: ProviderCall): AsyncIterable<ProviderChunk>;
  /**
   * Checks what this machine must have, and begins what the first call would wait for. Resolves with what is missing, as a
   * sentence for the operator, or with undefined. A provider works without having been prepared.
   */
  prepare?(): Promise<string | undefined>;
  /** Closes idle connections. Running calls are ended by their own signals. */
  close(): Promise<void>;
}

/** Takes messages of a provider that are for the operator and for no caller. A logger of the process fits. */
export interface ProviderLog {
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** Whether the worker may retry after a failed attempt of which the client has seen nothing. */
export type Disposition = 'retry' | 'fail';

/**
 * The state of the upstream that a failure shows. A failure that the request has caused shows none.
 *
 * - `limited`: it is alive, and asks for fewer requests
 * - `unreachable`: no connection to it could be made, which is never the doing of a request
 * - `refused`: it answered with an error before any output: no generation has begun
 * - `broken`: it took the request and did not answer properly, so a generation may have begun
 */
export type UpstreamFault = 'limited' | 'unreachable' | 'refused' | 'broken';

export interface ProviderErrorOptions {
  disposition: Disposition;
  /** Absent when the failure says nothing about the upstream. */
  fault?: UpstreamFault;
  /** The upstream asked to wait this long before the next try, in milliseconds. */
  retryAfterMs?: number;
  /** HTTP status and request id of the upstream, for the log alone. */
  upstreamStatus?: number;
  upstreamRequestId?: string;
  /**
   * The upstream's own words, unchanged. They may quote a prompt, an answer or a key, so they must not be logged, kept or sent.
   * Code that knows the request may make a readable reason of them.
   */
  upstreamWords?: string;
  cause?: unknown;
  /** A sentence for the client that says what to change, in place of the fixed sentence of the code. */
  publicMessage?: string;
  /** The field of the request that is at fault, if known. */
  param?: string;
}

/**
 * An upstream failed. The code is what the client learns; everything else is for the log.
 *
 * The message names the provider and what happened, never the upstream's address, key or words.
 */
export class ProviderError extends Error {
  readonly code: FailureCode;
  readonly disposition: Disposition;
  readonly fault: UpstreamFault | undefined;
  readonly retryAfterMs: number | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamRequestId: string | undefined;
  readonly #upstreamWords: string | undefined;
  readonly publicMessage: string | undefined;
  readonly param: string | undefined;

  constructor(code: FailureCode, message: string, options: ProviderErrorOptions) {
    super(message, { cause: options.cause });
    this.name = 'ProviderError';
    this.code = code;
    this.disposition = options.disposition;
    this.fault = options.fault;
    this.retryAfterMs = options.retryAfterMs;
    this.upstreamStatus = options.upstreamStatus;
    this.upstreamRequestId = options.upstreamRequestId;
    this.#upstreamWords = options.upstreamWords;
    this.publicMessage = options.publicMessage;
    this.param = options.param;
  }

  /** Private, so that nothing that prints or serializes an error shows it. */
  get upstreamWords(): string | undefined {
    return this.#upstreamWords;
  }
}
