import { countedUsage, type Usage } from '@sluice/contract';
import { countOf, isObject, type JsonObject, objectOf } from '../json-fields.ts';

/** The upstream's usage, under the names of either API; undefined unless it has both totals. */
export function usageFrom(value: unknown): Usage | undefined {
  const usage = objectOf(value);
  if (!usage) return undefined;
  const input = usage['input_tokens'] ?? usage['prompt_tokens'];
  const output = usage['output_tokens'] ?? usage['completion_tokens'];
  if (typeof input !== 'number' || typeof output !== 'number') return undefined;
  const inputDetails = detailsOf(usage, 'input_tokens_details', 'prompt_tokens_details');
  const outputDetails = detailsOf(usage, 'output_tokens_details', 'completion_tokens_details');
  return countedUsage(countOf(input), countOf(output), {
    cached: countOf(inputDetails['cached_tokens']),
    // LiteLLM has another name for it.
    written: countOf(inputDetails['cache_write_tokens'] ?? inputDetails['cache_creation_tokens']),
    reasoning: countOf(outputDetails['reasoning_tokens']),
  });
}

function detailsOf(usage: JsonObject, name: string, otherName: string): JsonObject {
  const details = usage[name] ?? usage[otherName];
  return isObject(details) ? details : {};
}
