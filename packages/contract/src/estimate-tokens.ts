import type { Generation } from './generation.ts';
import type { InputPart } from './items.ts';

/** Tokens counted for an image, a file or a video of any size. */
const mediaTokens = 256;
/** Tokens counted for the frame around a message or a call. */
const itemTokens = 4;

/**
 * Estimates the tokens of a text: one for every four bytes of UTF-8, rounded up.
 *
 * The estimate is about right for English prose with common tokenizers, some thirty per cent off for code, and a
 * rough upper bound for scripts of three bytes a character. It needs only the length of the text.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Estimates the tokens of a whole prompt: instructions, every item, and the tools as JSON. */
export function estimateInputTokens({
  input,
  instructions = '',
  tools = [],
}: Pick<Generation, 'input' | 'instructions' | 'tools'>): number {
  let tokens = estimateTokens(instructions);
  if (tools.length > 0) tokens += estimateTokens(JSON.stringify(tools));
  for (const item of input) {
    tokens += itemTokens;
    if (item.type === 'message') tokens += contentTokens(item.content);
    else if (item.type === 'function_call') tokens += estimateTokens(item.name + item.arguments);
    else if (item.type === 'custom_tool_call') tokens += estimateTokens(item.name + item.input);
    else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      tokens += contentTokens(item.output);
    }
  }
  return tokens;
}

function contentTokens(content: string | readonly InputPart[]): number {
  if (typeof content === 'string') return estimateTokens(content);
  let tokens = 0;
  for (const part of content) {
    if ('text' in part) tokens += estimateTokens(part.text);
    else tokens += part.type === 'refusal' ? estimateTokens(part.refusal) : mediaTokens;
  }
  return tokens;
}
