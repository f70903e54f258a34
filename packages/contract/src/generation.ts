import type { CreateResponse } from './parse-create-response.ts';

/**
 * What a provider is asked to generate: the client's own members under their wire names, absent where the
 * client chose nothing, and the whole context as `input`.
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
