import type { CacheMark } from '../cache-marks.ts';

/**
 * The part of the AI SDK's provider specification that is used here, in the shape of its version 4. Versions 3 and 2 differ
 * in what a file part holds, in usage and in the finish reason. Data from a model is untrusted and read field by field.
 */

export const knownVersions: readonly string[] = ['v4', 'v3', 'v2'];

export interface LanguageModel {
  readonly specificationVersion: string;
  doStream(options: CallOptions): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

export interface CallOptions {
  prompt: PromptMessage[];
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  stopSequences?: string[];
  seed?: number;
  responseFormat?: { type: 'json'; schema?: object; name?: string; description?: string };
  tools?: Tool[];
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string };
  reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  headers?: Record<string, string>;
  includeRawChunks?: boolean;
  abortSignal?: AbortSignal;
  providerOptions?: Record<string, Record<string, string | boolean | { [key: string]: boolean }>>;
}

/** A part that may be marked for the cache of its vendor. */
export interface Markable {
  providerOptions?: { anthropic: { cacheControl: CacheMark } };
}

export interface Tool extends Markable {
  type: 'function';
  name: string;
  description?: string;
  inputSchema: object;
  strict?: boolean;
}

export type PromptMessage =
  | ({ role: 'system'; content: string } & Markable)
  | { role: 'user'; content: UserPart[] }
  | { role: 'assistant'; content: AssistantPart[] }
  | { role: 'tool'; content: ToolResultPart[] };

export interface TextPart extends Markable {
  type: 'text';
  text: string;
}

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

export interface ReasoningPart {
  type: 'reasoning';
  text: string;
  /** Data of the package about it, by vendor. */
  providerOptions: Record<string, unknown>;
}

export type UserPart = TextPart | FilePart;

export interface FilePart extends Markable {
  type: 'file';
  filename?: string;
  /** A tagged value in version 4; base64 or a URL itself before. */
  data: { type: 'data'; data: string } | { type: 'url'; url: URL } | string | URL;
  /** With `/*` where only the kind is known. */
  mediaType: string;
}

export interface ToolCallPart extends Markable {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: unknown;
}

export interface ToolResultPart extends Markable {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'text'; value: string };
}
