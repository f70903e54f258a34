import type { InputItem } from './items.ts';
import type { CreateResponse } from './parse-create-response.ts';

/** Whether the model may make several calls in one response. It may unless the client says no. */
export function allowsParallelCalls(request: Pick<Generation, 'parallel_tool_calls'>): boolean {
  return request.parallel_tool_calls ?? true;
}

/** Whether the client wants reasoning that it can send back. */
export function includesEncryptedReasoning({ include }: Pick<Generation, 'include'>): boolean {
  return include?.includes('reasoning.encrypted_content') === true;
}

type ReasoningInput = Extract<InputItem, { type: 'reasoning' }>;

/**
 * A value that an upstream gave with its reasoning and wants back unchanged, such as encrypted reasoning or a signature.
 *
 * `origin` is the kind of the provider and its id: one upstream cannot read what another has made.
 */
export interface OpaqueReasoning {
  origin: string;
  data: string;
}

/** An item of the context of a model. Sealed content is opened: reasoning has its text back, and what its upstream gave with it. */
export type ContextItem =
  | Exclude<InputItem, ReasoningInput>
  | (Omit<ReasoningInput, 'encrypted_content'> & { opaque?: OpaqueReasoning });

/**
 * A request to a provider. The members have their wire names, and are absent where the client chose nothing. `input` is the
 * whole context.
 */
export type Generation = { input: ContextItem[] } & Pick<
  CreateResponse,
  | 'instructions'
  | 'tools'
  | 'tool_choice'
  | 'hosted_tools'
  | 'hosted_tool_choice'
  | 'max_tool_calls'
  | 'parallel_tool_calls'
  | 'text'
  | 'reasoning'
  | 'temperature'
  | 'top_p'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'top_logprobs'
  | 'max_output_tokens'
  | 'stop'
  | 'seed'
  | 'cache_breakpoints'
  | 'embedding'
  | 'include'
  | 'truncation'
  | 'prompt_cache_key'
  | 'safety_identifier'
  | 'user'
>;
