import type { CreateResponse } from './parse-create-response.ts';

/** Whether the model may make several calls in one response. It may unless the client says no. */
export function allowsParallelCalls(request: Pick<Generation, 'parallel_tool_calls'>): boolean {
  return request.parallel_tool_calls ?? true;
}

/**
 * What a provider is asked to generate. The members have their wire names, and are absent where the client chose
 * nothing. `input` is the whole context.
 */
export type Generation = Pick<
  CreateResponse,
  | 'input'
  | 'instructions'
  | 'tools'
  | 'tool_choice'
  | 'parallel_tool_calls'
  | 'text'
  | 'reasoning'
  | 'temperature'
  | 'top_p'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'top_logprobs'
  | 'max_output_tokens'
  | 'include'
  | 'truncation'
  | 'prompt_cache_key'
  | 'safety_identifier'
  | 'user'
>;
