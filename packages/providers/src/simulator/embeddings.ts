import { createHash } from 'node:crypto';
import type { EmbeddingRequest, Generation } from '@sluice/contract';
import { embeddingInputs, printVector, vectorChunks } from '../embedding-texts.ts';
import type { ProviderChunk } from '../provider.ts';

/** How many numbers a vector has unless the request says so. */
const defaultDimensions = 256;

/**
 * Vectors of length 1 that follow from the words of a text alone: equal texts have equal vectors, and texts that share words have vectors
 * that are closer than others.
 */
export function* simulateEmbeddings(
  generation: Generation,
  embedding: EmbeddingRequest,
): Generator<ProviderChunk, void, undefined> {
  const { dimensions = defaultDimensions } = embedding;
  for (const input of embeddingInputs(generation, embedding)) {
    const words =
      typeof input === 'string' ? (input.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [input]) : input;
    yield* vectorChunks(printVector(vectorOf(words.map(String), dimensions)));
  }
}

/** Each word adds to a few places, which its digest says. */
function vectorOf(words: readonly string[], dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  for (const word of words) {
    const digest = createHash('sha256').update(word).digest();
    for (let at = 0; at + 4 < digest.length; at += 5) {
      const place = digest.readUInt32LE(at) % dimensions;
      vector[place] = (vector[place] ?? 0) + (digest.readInt8(at + 4) + 0.5) / 128;
    }
  }
  const length = Math.hypot(...vector);
  return vector.map((number) => (length === 0 ? number : number / length));
}
