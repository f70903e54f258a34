import { type Response, ServiceError } from '@sluice/contract';
import { z } from 'zod';
import { refuseCancelled } from '../response-facts.ts';
import type { EmbeddingDelivery } from './embedding-request.ts';

export const embeddingListSchema = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.int(),
      /** Numbers, or with `base64` their 32-bit floats. */
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
});

/**
 * The JSON of the embeddings that a response was asked for, in pieces that are made when they are wanted: one for each vector. `bytesOf`
 * gives the bytes of a text, also of one that a mark stands for.
 *
 * @throws {ServiceError} for a response that has no vector for each of its inputs, before the first piece.
 */
export function embeddingListJson(
  response: Response,
  { encoding }: EmbeddingDelivery,
  bytesOf: (text: string) => Buffer[] = (text) => [Buffer.from(text)],
): Iterable<Buffer> {
  refuseCancelled(response);
  const vectors = response.output.map((item) => {
    const [part] = item.type === 'message' ? item.content : [];
    if (part?.type === 'output_text') return part.text;
    throw new ServiceError('model_error', 'The model has not made embeddings.', { shouldRetry: false });
  });
  return pieces(response, vectors, (vector) => embeddingOf(bytesOf(vector), encoding));
}

function* pieces(
  { model, usage }: Response,
  vectors: readonly string[],
  printed: (vector: string) => Buffer[],
): Generator<Buffer> {
  yield Buffer.from('{"object":"list","data":[');
  for (const [index, vector] of vectors.entries()) {
    yield Buffer.from(`${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`);
    yield* printed(vector);
    yield Buffer.from('}');
  }
  const counted = { prompt_tokens: usage?.input_tokens ?? 0, total_tokens: usage?.total_tokens ?? 0 };
  yield Buffer.from(`],${JSON.stringify({ model, usage: counted }).slice(1)}`);
}

const quote = Buffer.from('"');

function embeddingOf(base64: Buffer[], encoding: EmbeddingDelivery['encoding']): Buffer[] {
  if (encoding === 'base64') return [quote, ...base64, quote];
  const bytes = Buffer.from(Buffer.concat(base64).toString('latin1'), 'base64');
  const numbers = Array.from({ length: bytes.length / bytesOfNumber }, (_, at) =>
    bytes.readFloatLE(at * bytesOfNumber),
  );
  return [Buffer.from(JSON.stringify(numbers))];
}

const bytesOfNumber = 4;
