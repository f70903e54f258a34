import type { Usage } from '@sluice/contract';
import { countOf, type JsonObject, objectOf } from '../json-fields.ts';

/** The usage of a finish part, in the shape of any version of the specification; undefined unless it has both totals. */
export function usageOf(usage: JsonObject | undefined): Usage | undefined {
  if (!usage) return undefined;
  const inputs = objectOf(usage['inputTokens']);
  const outputs = objectOf(usage['outputTokens']);
  // Version 2 has plain numbers.
  const input = inputs ? inputs['total'] : usage['inputTokens'];
  const output = outputs ? outputs['total'] : usage['outputTokens'];
  if (typeof input !== 'number' || typeof output !== 'number') return undefined;
  return {
    input_tokens: countOf(input),
    input_tokens_details: {
      cached_tokens: countOf(inputs ? inputs['cacheRead'] : usage['cachedInputTokens']),
      cache_write_tokens: countOf(inputs?.['cacheWrite']),
    },
    output_tokens: countOf(output),
    output_tokens_details: {
      reasoning_tokens: countOf(outputs ? outputs['reasoning'] : usage['reasoningTokens']),
    },
    total_tokens: countOf(input) + countOf(output),
  };
}
