import {
  countedUsage,
  estimateInputTokens,
  estimateTokens,
  type Generation,
  type OutputItem,
  type Usage,
} from '@sluice/contract';

/**
 * Token counts for an upstream that reports none: near enough for limits, and never a partial object. The vectors of a request for embeddings
 * are no tokens.
 */
export function estimatedUsage(generation: Generation | undefined, output: readonly OutputItem[]): Usage {
  return estimatedUsageOf(
    generation ? estimateInputTokens(generation) : 0,
    generation?.embedding ? [] : output,
  );
}

/** The same where the input is not at hand. */
export function estimatedUsageOf(input: number, output: readonly OutputItem[]): Usage {
  let visible = 0;
  let reasoning = 0;
  for (const item of output) {
    if (item.type === 'function_call') visible += estimateTokens(item.name) + estimateTokens(item.arguments);
    else if (item.type === 'custom_tool_call')
      visible += estimateTokens(item.name) + estimateTokens(item.input);
    else if (item.type === 'message') {
      for (const part of item.content) {
        visible += estimateTokens(part.type === 'output_text' ? part.text : part.refusal);
      }
    } else {
      for (const { text } of [...item.summary, ...(item.content ?? [])]) reasoning += estimateTokens(text);
    }
  }
  return countedUsage(input, visible + reasoning, { reasoning });
}
