import type {
  Chat,
  ChatWrapper,
  Context,
  GeneratedResponse,
  GenerateOptions,
  Grammar,
  GrammarSchema,
  HistoryItem,
  Llama,
  Model,
  Sequence,
} from '../src/llama-cpp/library.ts';

/*
 * Stands in for the package `node-llama-cpp` in the process of a model. The last message of the user says what the model
 * does: `hang`, `hang after one`, `deaf` (it hears of no abort), `die`, `fail`, `chatter` or `think`. Otherwise it greets.
 * With functions it calls each of them, and with a grammar it writes its first choice.
 */

interface FakeGrammar {
  schema: GrammarSchema;
}

interface FakeSequence extends Sequence {
  tokenMeter: { usedOutputTokens: number };
  held: string;
}

export async function getLlama(): Promise<Llama> {
  return {
    gpu: false,
    loadModel: async ({ modelPath }): Promise<Model> => {
      if (modelPath.includes('broken')) throw new Error('failed to load model');
      return {
        trainContextSize: 2048,
        tokenizer: undefined,
        createContext: async ({ contextSize }): Promise<Context> => ({
          contextSize,
          getSequence: (): FakeSequence => ({
            tokenMeter: { usedOutputTokens: 0 },
            held: '',
            async clearHistory() {
              this.held = '';
            },
            evaluateWithoutGeneratingNewTokens: async () => undefined,
          }),
        }),
      };
    },
    createGrammarForJsonSchema: async (schema): Promise<Grammar & FakeGrammar> => {
      if (JSON.stringify(schema).includes('no grammar'))
        throw new Error('Failed to parse grammar: secret words');
      return { schema };
    },
  };
}

export function resolveChatWrapper(): ChatWrapper {
  return {
    generateContextState({ chatHistory }) {
      const text = chatHistory.map(textOf).join(' ').trim();
      if (text.includes('bad order')) throw new Error('secret words');
      return { contextText: { tokenize: () => text.split(' ') } };
    },
  };
}

export class LlamaChat implements Chat {
  readonly #sequence: FakeSequence;

  constructor({ contextSequence }: { contextSequence: Sequence; chatWrapper: ChatWrapper }) {
    // `getSequence` makes no others.
    this.#sequence = contextSequence as FakeSequence;
  }

  async generateResponse(history: HistoryItem[], options: GenerateOptions): Promise<GeneratedResponse> {
    const { signal, maxTokens, functions } = options;
    const asked = history.findLast((item) => item.type === 'user')?.text ?? '';
    if (this.#sequence.held !== '') throw new Error('The context holds what others have asked');
    this.#sequence.held = asked;
    const write = (text: string, segmentType?: string): boolean => {
      if (this.#sequence.tokenMeter.usedOutputTokens >= maxTokens) return false;
      this.#sequence.tokenMeter.usedOutputTokens += 1;
      options.onResponseChunk({ ...(segmentType && { type: 'segment', segmentType }), text, tokens: [1] });
      return true;
    };
    this.#sequence.tokenMeter.usedOutputTokens = 0;
    if (asked.includes('die')) process.kill(process.pid, 'SIGKILL');
    if (asked.includes('fail')) throw new Error('secret words');
    if (asked.includes('hang after one')) write('Hello');
    if (asked.includes('deaf')) await new Promise(() => undefined);
    if (asked.includes('hang') || asked.includes('die')) await aborted(signal);
    if (asked.includes('think')) write('Hm.', 'thought');
    const grammar = options.grammar as FakeGrammar | undefined;
    const texts = grammar
      ? [firstOf(grammar.schema)]
      : asked.includes('chatter')
        ? many
        : ['Hello', ' there'];
    if (functions) return call(Object.keys(functions), options);
    for (const text of texts) if (!write(text)) return { metadata: { stopReason: 'maxTokens' } };
    return { metadata: { stopReason: 'eogToken' } };
  }

  dispose(): void {
    // It holds nothing.
  }
}

const many = Array.from({ length: 100 }, (_, index) => ` ${index}`);

/** Every second function is one without pieces of arguments, as the library tells of those without parameters. */
function call(names: string[], { onFunctionCallParamsChunk: tell }: GenerateOptions): GeneratedResponse {
  for (const [callIndex, functionName] of names.entries()) {
    if (callIndex % 2 === 1) continue;
    tell?.({ callIndex, functionName, paramsChunk: '{' });
    tell?.({ callIndex, functionName, paramsChunk: '}' });
  }
  return {
    functionCalls: names.map((functionName) => ({ functionName, params: {} })),
    metadata: { stopReason: 'functionCalls' },
  };
}

function textOf(item: HistoryItem): string {
  if (item.type !== 'model') return item.text;
  return item.response.length > 0 ? JSON.stringify(item.response) : '';
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

function firstOf(schema: GrammarSchema): string {
  return JSON.stringify(exampleOf(schema));
}

function exampleOf(schema: GrammarSchema): unknown {
  if ('oneOf' in schema) return schema.oneOf[0] && exampleOf(schema.oneOf[0]);
  if ('const' in schema) return schema.const;
  if ('enum' in schema) return schema.enum[0];
  if ('properties' in schema) {
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, value]) => [name, exampleOf(value)]),
    );
  }
  return 'type' in schema && schema.type === 'object' ? {} : 'x';
}
