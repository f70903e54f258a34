import { countedUsage, type Usage } from '@sluice/contract';
import { countOf, type JsonObject, objectOf } from '../json-fields.ts';

interface InputCounts {
  total: unknown;
  cached: number;
  written: number;
}

/** The usage of a finish part, in the shape of any version of the specification; undefined unless it has both totals. */
export function usageOf({ usage: given, providerMetadata }: JsonObject): Usage | undefined {
  const usage = objectOf(given);
  if (!usage) return undefined;
  const { total, cached, written } = inputOf(usage, objectOf(providerMetadata) ?? {});
  const outputs = objectOf(usage['outputTokens']);
  const output = outputs ? outputs['total'] : usage['outputTokens'];
  if (typeof total !== 'number' || typeof output !== 'number') return undefined;
  // Tokens that a cache took part in are input, whether or not a package counts them there.
  const input = Math.max(countOf(total), countOf(cached + written));
  const reasoning = countOf(outputs ? outputs['reasoning'] : usage['reasoningTokens']);
  return countedUsage(input, countOf(output), { cached, written, reasoning });
}

function inputOf(usage: JsonObject, metadata: JsonObject): InputCounts {
  const inputs = objectOf(usage['inputTokens']);
  if (inputs) {
    const { total, cacheRead, cacheWrite } = inputs;
    return { total, cached: countOf(cacheRead), written: countOf(cacheWrite) };
  }
  // Version 2 has plain numbers. Those of these packages are what their vendors count: the input beside reads and writes.
  const { inputTokens: total } = usage;
  const cached = countOf(usage['cachedInputTokens']);
  const { anthropic, bedrock } = metadata;
  if (!objectOf(anthropic) && !objectOf(bedrock)) return { total, cached, written: 0 };
  const written = countOf(
    objectOf(anthropic)?.['cacheCreationInputTokens'] ??
      objectOf(objectOf(bedrock)?.['usage'])?.['cacheWriteInputTokens'],
  );
  return { total: typeof total === 'number' ? countOf(total) + cached + written : total, cached, written };
}
