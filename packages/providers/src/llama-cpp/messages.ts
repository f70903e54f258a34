import type { FailureCode } from '@sluice/contract';
import type { Disposition, ProviderChunk, UpstreamFault } from '../provider.ts';
import type { Functions, GrammarSchema, HistoryItem, Sampling } from './library.ts';

/** The model that a process loads, with every default filled in. */
export interface LoadOptions {
  library: string;
  modelPath: string;
  contextTokens: number;
  threads: number;
  parallel: number;
  gpu: 'auto' | 'off';
}

/** A generation in the terms of the library. It holds text and no reference to anything outside of the process. */
export interface LlamaRequest {
  history: HistoryItem[];
  /** Functions that the model may call where it likes. Never together with `schema`. */
  functions?: Functions;
  maxFunctionCalls?: number;
  /** The schema that the whole answer satisfies. */
  schema?: GrammarSchema;
  /** The answer is `{"function", "arguments"}` or `{"answer"}`, and is taken apart when it is whole. */
  isChoice: boolean;
  sampling: Sampling;
  /** Undefined: as many as the context has room for. */
  maxTokens?: number;
  /** Whether the model may think before it answers, if it can. */
  mayThink: boolean;
  /** Whether the oldest items are left out of a prompt that is too long. */
  truncates: boolean;
}

/** From a worker to the process of a model. `load` comes first, and once. */
export type ToModel =
  | { type: 'load'; options: LoadOptions }
  | { type: 'run'; id: number; request: LlamaRequest }
  | { type: 'abort'; id: number };

/** Facts about the loaded model, for the log. */
export interface LoadedFacts {
  loadMs: number;
  contextTokens: number;
  threads: number;
  /** The GPU interface in use, or `off`. */
  gpu: string;
}

/** The failure of a run. It holds no words of the library, which quote prompts. */
export interface RunFailure {
  code: FailureCode;
  disposition: Disposition;
  fault?: UpstreamFault;
  /** The rest of a sentence that begins with the name of the provider. */
  what: string;
  param?: string;
  publicMessage?: string;
}

/** From the process of a model to its worker. A run ends with `failed` or `ended`, and nothing of it follows. */
export type FromModel =
  | { type: 'loaded'; facts: LoadedFacts }
  /** The worker ends the process after this. The reason is for the operator. */
  | { type: 'not_loaded'; reason: string }
  | { type: 'chunk'; id: number; chunk: ProviderChunk }
  | { type: 'failed'; id: number; failure: RunFailure }
  | { type: 'ended'; id: number };
