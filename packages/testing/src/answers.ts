import {
  completed,
  type OutputItem,
  type Response,
  responseFor,
  type Usage,
  withEnd,
} from '@sluice/contract';

/** The usage of an answer of so many tokens. */
export function usageOf(
  input: number,
  output: number,
  { cached = 0, cacheWrite = 0, reasoning = 0 } = {},
): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** A whole message of this text. */
export function said(text: string, id = 'msg_1'): OutputItem {
  const content = [{ type: 'output_text' as const, text, annotations: [], logprobs: [] }];
  return { type: 'message', id, status: 'completed', role: 'assistant', content };
}

/** A response that was just accepted, for the model `m`. */
export function acceptedResponse(): Response {
  const facts = { id: 'create-response_0abc', createdAt: 1_700_000_000, serviceTier: 'default' } as const;
  return responseFor({ model: 'm' }, facts);
}

/** The same response, completed with this output. */
export function completedResponse(output: OutputItem[], usage: Usage): Response {
  return withEnd(acceptedResponse(), completed({ output, usage }, 1_700_000_001));
}
