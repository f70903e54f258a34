import { countedUsage, type EmbeddingRequest, type Generation } from '@sluice/contract';
import { bytesOfNumber, embeddingInputs, printVector, vectorChunks } from '../embedding-texts.ts';
import { countOf, isObject, type JsonObject, objectOf } from '../json-fields.ts';
import type { ProviderCall, ProviderChunk, ProviderError } from '../provider.ts';
import { brokenStream, failedInStream } from '../upstream/failure.ts';

/** Most inputs of a request to an upstream: the answer to so many is parsed in some milliseconds. */
const batchInputs = 128;

/** Most characters of the texts of a request, but for a single one. Tokens of a list count as five. */
const batchCharacters = 512 * 1024;

export interface EmbeddingCall {
  providerId: string;
  call: Pick<ProviderCall, 'model' | 'signal'>;
  /** Sends a request, and returns the value of the answer. */
  ask: (path: string, body: string) => Promise<unknown>;
}

/**
 * Asks an upstream for the vectors of all texts, batch by batch, and yields each as a message of its own.
 *
 * Vectors are asked for as base64. A server that does not know that sends numbers.
 */
export async function* embed(
  generation: Generation,
  embedding: EmbeddingRequest,
  { providerId, call, ask }: EmbeddingCall,
): AsyncGenerator<ProviderChunk, void, undefined> {
  let tokens = 0;
  let isCounted = true;
  for (const input of batchesOf(embeddingInputs(generation, embedding))) {
    const { dimensions } = embedding;
    const { user } = generation;
    const body = JSON.stringify({ model: call.model, input, encoding_format: 'base64', dimensions, user });
    const answer = objectOf(await ask('/embeddings', body));
    if (answer?.['error']) throw failedInStream(providerId, answer['error']);
    if (!answer) throw malformed(providerId);
    for (const vector of vectorsOf(answer, input.length, providerId)) yield* vectorChunks(vector);
    const counted = countOf(objectOf(answer['usage'])?.['prompt_tokens']);
    tokens += counted;
    isCounted &&= counted > 0;
    call.signal.throwIfAborted();
  }
  // Servers that count nothing leave it out, or say zero. It is estimated then.
  if (isCounted) yield { type: 'usage', usage: countedUsage(tokens, 0) };
  yield { type: 'finish', reason: 'stop' };
}

function* batchesOf(inputs: readonly (string | number[])[]): Generator<(string | number[])[]> {
  let batch: (string | number[])[] = [];
  let characters = 0;
  for (const input of inputs) {
    const length = typeof input === 'string' ? input.length : 5 * input.length;
    if (batch.length === batchInputs || (batch.length > 0 && characters + length > batchCharacters)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(input);
    characters += length;
  }
  if (batch.length > 0) yield batch;
}

/** The vectors of an answer in the order of their inputs, which need not be that of the answer. */
function vectorsOf(answer: JsonObject, count: number, providerId: string): string[] {
  const { data } = answer;
  if (!Array.isArray(data) || data.length !== count) throw malformed(providerId);
  const vectors: (string | undefined)[] = Array.from({ length: count }, () => undefined);
  for (const [at, each] of data.entries()) {
    if (!isObject(each)) throw malformed(providerId);
    const index = typeof each['index'] === 'number' ? each['index'] : at;
    if (!(index in data) || vectors[index] !== undefined) throw malformed(providerId);
    vectors[index] = vectorOf(each['embedding']);
  }
  return vectors.map((vector) => {
    if (vector === undefined) throw malformed(providerId);
    return vector;
  });
}

/** A vector as base64 of 32-bit floats; undefined if it is none. */
function vectorOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const isVector = value.length > 0 && value.every((number) => Number.isFinite(number));
    return isVector ? printVector(value as number[]) : undefined;
  }
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'base64');
  const isVector = bytes.length > 0 && bytes.length % bytesOfNumber === 0;
  // Another spelling of the same bytes would be passed on to readers who may not know it.
  return isVector ? bytes.toString('base64') : undefined;
}

function malformed(providerId: string): ProviderError {
  return brokenStream(providerId, 'answered with something that is no list of embeddings');
}
