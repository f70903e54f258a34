import {
  countedUsage,
  type EmbeddingRequest,
  estimateInputTokens,
  type FailureCode,
  type Generation,
} from '@sluice/contract';
import { Pacing } from './pacing.ts';
import {
  type Disposition,
  type FinishReason,
  type Provider,
  type ProviderCall,
  type ProviderChunk,
  ProviderError,
} from '../provider.ts';
import { AllowedCalls } from '../allowed-calls.ts';
import { type SimulatedAnswer, simulateAnswer } from './answer.ts';
import { brokenContent } from './broken-content.ts';
import { simulateEmbeddings } from './embeddings.ts';
import { piecesOf, wordsOf } from './text.ts';
import { untilStop } from './until-stop.ts';

/** How a simulator answers. These defaults are for settings made by hand: those of a settings file are complete. */
export interface SimulatorSettings {
  type: 'simulator';
  id: string;
  /** The delay before the first chunk. Default: 0. */
  firstTokenMs?: number | undefined;
  /** The speed; 0, the default, is as fast as possible. */
  tokensPerSecond?: number | undefined;
  /** Whether every answer begins with a reasoning item. By default only those do whose request asks for one. */
  reasoning?: boolean | undefined;
  /** Two simulators with the same seed give the same answer to the same request. Default: 1. */
  seed?: number | undefined;
}

/**
 * A deterministic model inside the process, without a network, at a configurable speed.
 *
 * It answers with text that quotes the prompt, with calls of tools that the prompt mentions or the request demands,
 * and with JSON that satisfies the requested format. What it says ends before the first stop sequence. One token is one delta. `SimulatorDirectives` lists what a
 * request can make it do. Two attempts at the same request give the same chunks, unless a directive tells them apart.
 */
export function simulator(settings: SimulatorSettings): Provider {
  return new Simulator(settings);
}

class Simulator implements Provider {
  readonly id: string;
  readonly #settings: SimulatorSettings;

  constructor(settings: SimulatorSettings) {
    this.id = settings.id;
    this.#settings = settings;
  }

  generate(generation: Generation, call: ProviderCall): AsyncGenerator<ProviderChunk, void, undefined> {
    const { embedding } = generation;
    return embedding ? this.#embed(generation, embedding, call) : this.#say(generation, call);
  }

  async *#say(generation: Generation, call: ProviderCall): AsyncGenerator<ProviderChunk, void, undefined> {
    const { signal } = call;
    signal.throwIfAborted();
    const answer = this.#answer(generation, call);
    const { directives } = answer;
    const calls = new AllowedCalls(generation);
    const interruption = interruptionOf(answer, call.attempt);
    const most = generation.max_output_tokens ?? Number.POSITIVE_INFINITY;
    const pacing = this.#pacing(directives.tokensPerSecond, signal);
    let tokens = 0;
    let reasoningTokens = 0;
    let visibleTokens = 0;
    let reason: FinishReason | undefined;
    let stopSequence: string | undefined;
    const stop = { sequences: generation.stop, onStop: (found: string) => (stopSequence = found) };
    try {
      const delayMs = directives.firstTokenMs ?? this.#settings.firstTokenMs;
      if (delayMs) await pacing.rest(delayMs);
      // Before any chunk, reasoning included: the client sees nothing yet, so another attempt may follow.
      if (interruption?.after === 0) await this.#interrupt(interruption, pacing);
      for (const chunk of chunksOf(answer, stop)) {
        if (chunk.type !== 'function_call' && chunk.type !== 'custom_tool_call') {
          if (tokens >= most) {
            reason = 'max_output_tokens';
            break;
          }
          if (chunk.type === 'reasoning_summary') reasoningTokens += 1;
          else {
            if (interruption && visibleTokens === interruption.after)
              await this.#interrupt(interruption, pacing);
            visibleTokens += 1;
          }
          tokens += 1;
          const due = pacing.next();
          if (due) await due;
        }
        const admitted = calls.admit(chunk);
        if (admitted) yield admitted;
        // The consumer may have aborted the call meanwhile. Without a wait nothing else would notice.
        if (signal.aborted) throw signal.reason;
      }
      // An answer shorter than `after` is interrupted at its end, so that the directive always takes effect.
      if (interruption) await this.#interrupt(interruption, pacing);
      yield {
        type: 'usage',
        usage: countedUsage(estimateInputTokens(generation), tokens, { reasoning: reasoningTokens }),
      };
      const finish = calls.admit(finishOf(answer, { asked: reason ?? directives.stop, stopSequence }));
      if (finish) yield finish;
    } finally {
      pacing.close();
    }
  }

  /** Vectors come all at once, or the failure that a text asks for. */
  async *#embed(
    generation: Generation,
    embedding: EmbeddingRequest,
    call: ProviderCall,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    call.signal.throwIfAborted();
    const answer = this.#answer(generation, call);
    const interruption = interruptionOf(answer, call.attempt);
    const pacing = this.#pacing(answer.directives.tokensPerSecond, call.signal);
    try {
      const delayMs = answer.directives.firstTokenMs ?? this.#settings.firstTokenMs;
      if (delayMs) await pacing.rest(delayMs);
      if (interruption) await this.#interrupt(interruption, pacing);
    } finally {
      pacing.close();
    }
    yield* simulateEmbeddings(generation, embedding);
    yield { type: 'usage', usage: countedUsage(estimateInputTokens(generation), 0) };
    yield { type: 'finish', reason: 'stop' };
  }

  async close(): Promise<void> {
    // Nothing is open: each call owns its timers and ends them.
  }

  #pacing(tokensPerSecond: number | undefined, signal: AbortSignal): Pacing {
    return new Pacing(signal, tokensPerSecond ?? this.#settings.tokensPerSecond ?? 0);
  }

  /** The answer to give, broken where the request asks for that. */
  #answer(generation: Generation, { model, attempt }: ProviderCall): ReturnType<typeof simulateAnswer> {
    const { seed = 1, reasoning = false } = this.#settings;
    const intended = simulateAnswer(generation, model, { seed, reasoning });
    const { break: how, breakAttempts = attempt } = intended.directives;
    if (!how || attempt > breakAttempts) return intended;
    return { ...intended, content: brokenContent(intended.content, generation, how) };
  }

  async #interrupt(interruption: Interruption, pacing: Pacing): Promise<void> {
    if (interruption.kind === 'hang') return pacing.rest();
    const { code, disposition } = interruption;
    throw new ProviderError(code, `Provider '${this.id}' was told to fail with ${code}.`, { disposition });
  }
}

type Interruption =
  | { kind: 'hang'; after: number }
  | { kind: 'fail'; after: number; code: FailureCode; disposition: Disposition };

function interruptionOf({ directives }: SimulatedAnswer, attempt: number): Interruption | undefined {
  const { after, fail, failAttempts } = directives;
  if (directives.hang) return { kind: 'hang', after };
  if (fail === undefined || (failAttempts !== undefined && attempt > failAttempts)) return undefined;
  return {
    kind: 'fail',
    after,
    code: fail,
    disposition: failAttempts === undefined ? dispositionOf(fail) : 'retry',
  };
}

/** Whether a real upstream's failure with this code would be worth a retry. */
function dispositionOf(code: FailureCode): Disposition {
  switch (code) {
    case 'server_error':
    case 'model_error':
    case 'invalid_model_output':
    case 'upstream_error':
    case 'server_is_overloaded':
    case 'timeout':
      return 'retry';
    case 'invalid_prompt':
    case 'context_length_exceeded':
    case 'previous_response_not_found':
      return 'fail';
  }
}

function* chunksOf(
  { reasoning, content, directives }: SimulatedAnswer,
  { sequences, onStop }: { sequences: readonly string[] | undefined; onStop: (found: string) => void },
): Generator<ProviderChunk, void, undefined> {
  const cut = (pieces: Iterable<string>) => untilStop(pieces, sequences, onStop);
  if (reasoning !== undefined) {
    for (const delta of wordsOf(reasoning)) yield { type: 'reasoning_summary', delta };
  }
  switch (content.kind) {
    case 'text':
      for (const delta of cut(wordsOf(content.text, directives.tokens))) yield { type: 'text', delta };
      return;
    case 'json':
      for (const delta of cut(piecesOf(content.text))) yield { type: 'text', delta };
      return;
    case 'refusal':
      for (const delta of cut(wordsOf(content.text))) yield { type: 'refusal', delta };
      return;
    case 'calls':
      for (const [index, { type, name, text }] of content.calls.entries()) {
        const callKey = String(index);
        const isCustom = type === 'custom';
        yield { type: isCustom ? 'custom_tool_call' : 'function_call', callKey, name };
        for (const delta of piecesOf(text))
          yield { type: isCustom ? 'custom_tool_input' : 'function_arguments', callKey, delta };
      }
  }
}

/** The end of an answer that nothing has cut, or the reason for which something has. */
function finishOf(
  { content }: SimulatedAnswer,
  { asked, stopSequence }: { asked: FinishReason | undefined; stopSequence: string | undefined },
): ProviderChunk {
  if (asked !== undefined) return { type: 'finish', reason: asked };
  if (content.kind === 'calls') return { type: 'finish', reason: 'function_call' };
  return { type: 'finish', reason: 'stop', ...(stopSequence !== undefined && { stopSequence }) };
}
