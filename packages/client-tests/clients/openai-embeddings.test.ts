import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { clientSite, mounts, oneRequestKeys } from '../src/client-site.ts';

const site = clientSite();

describe.each(mounts)('openai with embeddings at $mount', ({ mount }) => {
  const embeddings = (apiKey = site.key) =>
    new OpenAI({ baseURL: site.baseUrl(mount), apiKey, maxRetries: 0 }).embeddings;
  const input = ['The cat sat.', 'The cat ran.', 'Rain falls.'];

  it('`create`', async () => {
    const { data, usage, model } = await embeddings().create({ model: 'simulator', input });
    expect(model).toBe('simulator');
    expect(data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 256],
      [1, 256],
      [2, 256],
    ]);
    expect(Math.hypot(...(data[0]?.embedding ?? []))).toBeCloseTo(1, 5);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
  });

  it('`encoding_format`, which brings the same numbers', async () => {
    const [numbers, bytes] = await Promise.all(
      (['float', 'base64'] as const).map((encoding_format) =>
        embeddings().create({ model: 'simulator', input: 'Hello!', encoding_format }),
      ),
    );
    // The types of the package say numbers, whatever was asked for.
    const base64 = bytes?.data[0]?.embedding as unknown as string;
    const read = Buffer.from(base64, 'base64');
    expect(numbers?.data[0]?.embedding).toEqual(
      Array.from({ length: read.length / 4 }, (_, at) => read.readFloatLE(4 * at)),
    );
  });

  it('`dimensions` and tokens', async () => {
    const { data } = await embeddings().create({ model: 'simulator', input: [[1, 2], [3]], dimensions: 8 });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([8, 8]);
  });

  it('2,048 texts', async () => {
    const many = Array.from({ length: 2_048 }, (_, at) => `text ${at}`);
    const { data } = await embeddings().create({ model: 'simulator', input: many });
    expect(data.at(-1)).toMatchObject({ index: 2_047, object: 'embedding' });
  });

  it('400 with its code', async () => {
    const call = embeddings().create({ model: 'simulator', input: ['Hello!', ''] });
    await expect(call).rejects.toMatchObject({ status: 400, code: 'invalid_value', param: 'input[1]' });
  });

  it('429', async () => {
    const slow = embeddings(oneRequestKeys[mount]);
    await slow.create({ model: 'simulator', input: 'The only one.' });
    const call = slow.create({ model: 'simulator', input: 'One too many.' });
    await expect(call).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });
});
