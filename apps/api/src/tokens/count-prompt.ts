import { type CountedPrompt, estimateInputTokens, type InputItem } from '@sluice/contract';
import { openSealedItems, type Sealing } from '../bodies/open-sealed.ts';
import { type Encoding, loadTokenizer, TooCostly } from './tokenizer.ts';

/** A prompt whose tokens are to be counted. Plain data that a thread can be sent. */
export interface PromptJson extends Pick<CountedPrompt, 'instructions' | 'tools'> {
  /** Its items as JSON: a text, or the bytes of one. */
  input: string | Uint8Array<ArrayBuffer>;
  encoding: Encoding;
}

export interface TokenCount {
  tokens: number;
  /** Whether each text was counted by the tokenizer of the model, and there was nothing but text. */
  isCounted: boolean;
}

/**
 * Counts the tokens of a prompt with a tokenizer, or estimates those of one that would take too long. It holds up the thread
 * that it runs in, for some seconds at most.
 */
export async function countPrompt(
  { input: json, encoding, ...prompt }: PromptJson,
  sealing: Sealing,
): Promise<TokenCount> {
  // Printed by this service, from a validated request.
  const input = JSON.parse(typeof json === 'string' ? json : Buffer.from(json).toString()) as InputItem[];
  const sealed = openSealedItems(input, sealing);
  const whole: CountedPrompt = { ...prompt, input };
  const tokenizer = await loadTokenizer(encoding);
  try {
    const tokens = estimateInputTokens(whole, tokenizer.budgeted());
    return { tokens: tokens + sealed, isCounted: sealed === 0 && !input.some(hasMedia) };
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error;
    return { tokens: estimateInputTokens(whole) + sealed, isCounted: false };
  }
}

function hasMedia(item: InputItem): boolean {
  const content = 'content' in item ? item.content : 'output' in item ? item.output : undefined;
  return Array.isArray(content) && content.some((part: { type: string }) => mediaTypes.has(part.type));
}

const mediaTypes = new Set(['input_image', 'input_file', 'input_video']);
