import type { EmbeddingRequest, Generation } from '@sluice/contract';
import type { ProviderChunk } from './provider.ts';

/** The texts of which vectors are wanted, or the tokens of each. */
export function embeddingInputs(
  { input }: Pick<Generation, 'input'>,
  { form }: EmbeddingRequest,
): (string | number[])[] {
  return input.map((item) => {
    // The api has made the input of such a request: messages of a text each.
    const text = 'content' in item && typeof item.content === 'string' ? item.content : '';
    return form === 'tokens' ? (JSON.parse(text) as number[]) : text;
  });
}

/** A vector as a message of its own. */
export function vectorChunks(base64: string): ProviderChunk[] {
  return [{ type: 'message' }, { type: 'text', delta: base64 }];
}

/** A vector as base64 of 32-bit floats. */
export function printVector(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * bytesOfNumber);
  for (const [at, number] of numbers.entries()) bytes.writeFloatLE(number, at * bytesOfNumber);
  return bytes.toString('base64');
}

export const bytesOfNumber = 4;
