import type { ContextItem, Generation } from './generation.ts';
import type { InputItem, InputPart } from './items.ts';

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
  return tokensOfBytes(Buffer.byteLength(text));
}

/** The same for a text of which only the length is known, JSON included. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** The content whose tokens are counted: the whole context, or the input of a request, which may hold sealed items. */
export type CountedPrompt = Pick<Generation, 'instructions' | 'tools'> & {
  input: readonly (ContextItem | InputItem)[];
};

/**
 * Estimates the tokens of a whole prompt: instructions, every item, and the tools as JSON. `tokensOf` counts those of a text; what
 * frames an item, and media, are estimated also where it is exact.
 */
export function estimateInputTokens(
  { input, instructions = '', tools = [] }: CountedPrompt,
  tokensOf: (text: string) => number = estimateTokens,
): number {
  let tokens = tokensOf(instructions);
  if (tools.length > 0) tokens += tokensOf(JSON.stringify(tools));
  for (const item of input) tokens += estimateItemTokens(item, tokensOf);
  return tokens;
}

/** Estimates the tokens of one item. Reasoning counts as little, since most upstreams are given none of it. */
export function estimateItemTokens(
  item: ContextItem | InputItem,
  tokensOf: (text: string) => number = estimateTokens,
): number {
  switch (item.type) {
    case 'message':
      return itemTokens + contentTokens(item.content, tokensOf);
    case 'function_call':
      return itemTokens + tokensOf(item.name + item.arguments);
    case 'custom_tool_call':
      return itemTokens + tokensOf(item.name + item.input);
    case 'function_call_output':
    case 'custom_tool_call_output':
      return itemTokens + contentTokens(item.output, tokensOf);
    default:
      return itemTokens;
  }
}

function contentTokens(content: string | readonly InputPart[], tokensOf: (text: string) => number): number {
  if (typeof content === 'string') return tokensOf(content);
  let tokens = 0;
  for (const part of content) {
    if ('text' in part) tokens += tokensOf(part.text);
    else tokens += part.type === 'refusal' ? tokensOf(part.refusal) : mediaTokens;
  }
  return tokens;
}
