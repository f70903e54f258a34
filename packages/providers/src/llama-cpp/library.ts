/**
 * The part of the package `node-llama-cpp`, version 3, that is used here.
 *
 * The package is not a dependency, because it brings 700 MB of binaries. Its types are therefore not there either, and
 * these are the ones that the code is checked against. A fake of them stands in for it in tests.
 */
export interface LlamaLibrary {
  getLlama(options: {
    gpu: 'auto' | false;
    /** `never`: a binary that is missing is not compiled on the operator's machine. */
    build: 'never';
    skipDownload: true;
    logLevel: 'error';
    logger: (level: string, message: string) => void;
  }): Promise<Llama>;
  resolveChatWrapper(model: Model): ChatWrapper;
  LlamaChat: new (options: { contextSequence: Sequence; chatWrapper: ChatWrapper }) => Chat;
}

export interface Llama {
  /** False if the processors compute. */
  gpu: string | false;
  loadModel(options: { modelPath: string }): Promise<Model>;
  /** @throws when llama.cpp cannot use the schema as a grammar. */
  createGrammarForJsonSchema(schema: GrammarSchema): Promise<Grammar>;
}

export interface Model {
  trainContextSize: number;
  tokenizer: unknown;
  createContext(options: { contextSize: number; sequences: number; threads: number }): Promise<Context>;
}

export interface Context {
  /** Context of each sequence, in tokens. */
  contextSize: number;
  getSequence(): Sequence;
}

export interface Sequence {
  tokenMeter: { readonly usedOutputTokens: number };
  clearHistory(): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly unknown[]): Promise<void>;
}

/** A grammar holds an answer to its schema. It has no members that are used here. */
export type Grammar = object;

export interface ChatWrapper {
  /** @throws when the chat template of the model does not take this history. */
  generateContextState(options: {
    chatHistory: HistoryItem[];
    availableFunctions?: Functions;
    documentFunctionParams: boolean;
  }): { contextText: { tokenize(tokenizer: unknown): readonly unknown[] } };
}

export interface Chat {
  generateResponse(history: HistoryItem[], options: GenerateOptions): Promise<GeneratedResponse>;
  dispose(): void;
}

export interface GenerateOptions extends Sampling {
  /** Rejects with its reason, after the token that is being computed. */
  signal: AbortSignal;
  maxTokens: number;
  budgets?: { thoughtTokens: number };
  grammar?: Grammar;
  functions?: Functions;
  documentFunctionParams?: true;
  maxParallelFunctionCalls?: number;
  /** The behaviour when the context is full. */
  contextShift: { size: number; strategy: () => never };
  onResponseChunk: (chunk: {
    type?: string | undefined;
    segmentType?: string;
    text: string;
    tokens: readonly unknown[];
  }) => void;
  onFunctionCallParamsChunk?: (chunk: {
    callIndex: number;
    functionName: string;
    paramsChunk: string;
  }) => void;
}

export interface Sampling {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  seed?: number;
  repeatPenalty:
    | false
    | { penalty: 1; lastTokens: number; frequencyPenalty: number; presencePenalty: number };
}

export interface GeneratedResponse {
  functionCalls?: readonly { functionName: string; params: unknown }[];
  metadata: {
    stopReason:
      | 'eogToken'
      | 'stopGenerationTrigger'
      | 'customStopTrigger'
      | 'functionCalls'
      | 'maxTokens'
      | 'abort';
  };
}

/** Texts are never read as control tokens of the model. */
export type HistoryItem =
  | { type: 'system'; text: string }
  | { type: 'user'; text: string }
  | { type: 'model'; response: (string | HistoryCall)[] };

export interface HistoryCall {
  type: 'functionCall';
  name: string;
  params: unknown;
  result: unknown;
}

export type Functions = Record<string, { description?: string; params: GrammarSchema }>;

/** The part of JSON Schema that becomes a grammar. All properties of an object are written. */
export type GrammarSchema =
  | { type: ScalarType | readonly ScalarType[]; description?: string }
  | { type: 'string'; minLength?: number; maxLength?: number; description?: string }
  | { type: 'string'; format: 'date-time' | 'time' | 'date'; description?: string }
  | { const: Scalar; description?: string }
  | { enum: readonly Scalar[]; description?: string }
  | { oneOf: readonly GrammarSchema[]; description?: string; $defs?: GrammarDefinitions }
  | {
      type: 'object';
      properties?: Record<string, GrammarSchema>;
      additionalProperties?: boolean | GrammarSchema;
      description?: string;
      $defs?: GrammarDefinitions;
    }
  | {
      type: 'array';
      items?: GrammarSchema;
      prefixItems?: readonly GrammarSchema[];
      minItems?: number;
      maxItems?: number;
      description?: string;
      $defs?: GrammarDefinitions;
    }
  | { $ref: string; description?: string; $defs?: GrammarDefinitions };

export type GrammarDefinitions = Record<string, GrammarSchema>;
export type Scalar = string | number | boolean | null;
export type ScalarType = 'string' | 'number' | 'integer' | 'boolean' | 'null';
