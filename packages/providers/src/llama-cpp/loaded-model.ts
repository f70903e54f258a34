import type { ProviderChunk } from '../provider.ts';
import { callChunks, choiceChunks } from './answer-chunks.ts';
import { fitHistory } from './fit-history.ts';
import type {
  ChatWrapper,
  Context,
  GenerateOptions,
  GeneratedResponse,
  Grammar,
  Llama,
  LlamaLibrary,
  Model,
  Sequence,
} from './library.ts';
import type { LlamaRequest, LoadedFacts, LoadOptions } from './messages.ts';
import { readPrompt } from './read-prompt.ts';
import { invalid, RunError } from './run-error.ts';

/** Prompt and answer together leave so many tokens of the context free: the library shifts it at the last but one. */
const spareTokens = 4;

/** A model in memory, with a context for each response that it generates at once. */
export class LoadedModel {
  readonly facts: LoadedFacts;
  readonly #library: LlamaLibrary;
  readonly #llama: Llama;
  readonly #model: Model;
  readonly #contextTokens: number;
  readonly #idle: Sequence[];

  private constructor(
    loaded: { library: LlamaLibrary; llama: Llama; model: Model; context: Context },
    options: LoadOptions,
    loadMs: number,
  ) {
    const { library, llama, model, context } = loaded;
    this.#library = library;
    this.#llama = llama;
    this.#model = model;
    this.#contextTokens = context.contextSize;
    this.#idle = Array.from({ length: options.parallel }, () => context.getSequence());
    this.facts = {
      loadMs: Math.round(loadMs),
      contextTokens: context.contextSize,
      threads: options.threads,
      gpu: llama.gpu === false ? 'off' : llama.gpu,
    };
  }

  /** Rejects when the file is no model that llama.cpp knows, or when there is not enough memory. */
  static async load(library: LlamaLibrary, options: LoadOptions): Promise<LoadedModel> {
    const startedAt = performance.now();
    const complaints: string[] = [];
    try {
      const llama = await library.getLlama({
        gpu: options.gpu === 'off' ? false : 'auto',
        build: 'never',
        skipDownload: true,
        logLevel: 'error',
        logger: (_level, message) => complaints.push(message.trim()),
      });
      const model = await llama.loadModel({ modelPath: options.modelPath });
      const context = await model.createContext({
        contextSize: Math.min(options.contextTokens, model.trainContextSize),
        sequences: options.parallel,
        threads: options.threads,
      });
      return new LoadedModel({ library, llama, model, context }, options, performance.now() - startedAt);
    } catch (error) {
      const words = [error instanceof Error ? error.message : String(error), ...complaints.slice(0, 5)];
      throw new Error(words.join(' '), { cause: error });
    }
  }

  /**
   * Generates one response and tells its chunks as they come, with the usage and the reason last. At most `parallel` may
   * run.
   *
   * A context is emptied before each run, so that the time to the first token tells nobody about the prompts of others.
   *
   * Rejects with a `RunError` for a request that this model cannot take, and with the signal's reason.
   */
  async run(request: LlamaRequest, signal: AbortSignal, tell: (chunk: ProviderChunk) => void): Promise<void> {
    const sequence = this.#idle.pop();
    if (!sequence) throw new Error('More responses are generated at once than there are contexts');
    try {
      await sequence.clearHistory();
      await this.#generate(request, { sequence, signal, tell });
    } finally {
      this.#idle.push(sequence);
    }
  }

  async #generate(
    request: LlamaRequest,
    run: { sequence: Sequence; signal: AbortSignal; tell: (chunk: ProviderChunk) => void },
  ): Promise<void> {
    const { sequence, signal, tell } = run;
    const wrapper = this.#library.resolveChatWrapper(this.#model);
    const grammar = await this.#grammarsOf(request);
    const most = this.#contextTokens - spareTokens;
    const { history, tokens } = fitHistory(request, most - 1, (items) =>
      this.#tokenize(wrapper, items, request),
    );
    await readPrompt(sequence, tokens, signal);
    const room = most - tokens.length;
    const before = sequence.tokenMeter.usedOutputTokens;
    const answer = request.isChoice ? choiceChunks(tell) : callChunks(tell);
    const chat = new this.#library.LlamaChat({ contextSequence: sequence, chatWrapper: wrapper });
    let ended: GeneratedResponse;
    try {
      ended = await chat.generateResponse(history, {
        ...optionsOf(request, grammar),
        signal,
        maxTokens: Math.min(request.maxTokens ?? room, room),
        onResponseChunk: (chunk) => answer.text(chunk),
        ...(request.functions && { onFunctionCallParamsChunk: (chunk) => answer.call(chunk) }),
      });
    } finally {
      chat.dispose();
    }
    signal.throwIfAborted();
    const reason = answer.end(ended);
    const output = sequence.tokenMeter.usedOutputTokens - before;
    tell({
      type: 'usage',
      usage: {
        input_tokens: tokens.length,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: output,
        output_tokens_details: { reasoning_tokens: Math.min(answer.reasoningTokens, output) },
        total_tokens: tokens.length + output,
      },
    });
    tell({ type: 'finish', reason });
  }

  /** The grammar of the answer. Grammars of functions are only tried here, because the library makes them as it goes. */
  async #grammarsOf({ schema, isChoice, functions = {} }: LlamaRequest): Promise<Grammar | undefined> {
    for (const [name, { params }] of Object.entries(functions)) {
      await this.#llama.createGrammarForJsonSchema(params).catch(() => {
        throw invalid('tools', `llama.cpp has no grammar for the parameters of the function '${name}'`);
      });
    }
    if (!schema) return undefined;
    return this.#llama.createGrammarForJsonSchema(schema).catch(() => {
      throw invalid(isChoice ? 'tools' : 'text.format', 'llama.cpp has no grammar for a schema in it');
    });
  }

  #tokenize(
    wrapper: ChatWrapper,
    history: LlamaRequest['history'],
    { functions }: LlamaRequest,
  ): readonly unknown[] {
    const isAnswered = history.at(-1)?.type === 'model';
    const chatHistory: LlamaRequest['history'] = isAnswered
      ? history
      : [...history, { type: 'model', response: [] }];
    try {
      const { contextText } = wrapper.generateContextState({
        chatHistory,
        ...(functions && { availableFunctions: functions }),
        documentFunctionParams: true,
      });
      return contextText.tokenize(this.#model.tokenizer);
    } catch {
      throw invalid('input', 'the chat template of the model does not take these messages in this order');
    }
  }
}

function optionsOf(
  { functions, maxFunctionCalls, sampling, mayThink }: LlamaRequest,
  grammar: Grammar | undefined,
): Omit<GenerateOptions, 'signal' | 'maxTokens' | 'onResponseChunk' | 'onFunctionCallParamsChunk'> {
  return {
    ...sampling,
    ...(!mayThink && { budgets: { thoughtTokens: 0 } }),
    ...(grammar && { grammar }),
    ...(functions && {
      functions,
      documentFunctionParams: true,
      ...(maxFunctionCalls !== undefined && { maxParallelFunctionCalls: maxFunctionCalls }),
    }),
    contextShift: {
      size: 1,
      strategy: () => {
        throw new RunError({
          code: 'context_length_exceeded',
          disposition: 'fail',
          what: 'has no room left in its context',
        });
      },
    },
  };
}
