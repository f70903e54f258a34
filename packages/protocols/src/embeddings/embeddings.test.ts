import type { Response } from '@sluice/contract';
import { completedResponse, said, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { embeddingListJson, embeddingListSchema } from './embedding-list.ts';
import { parseEmbeddingRequest } from './embedding-request.ts';

const parsed = (input: unknown, members: object = {}) =>
  parseEmbeddingRequest({ model: 'm', input, ...members });
const textsOf = (input: unknown) =>
  parsed(input).request.input.map((item) => ('content' in item ? item.content : undefined));

describe('a request for embeddings', () => {
  it.each([
    ['a text', 'Hi', 'texts', ['Hi']],
    ['texts', ['Hi', ' '], 'texts', ['Hi', ' ']],
    ['tokens', [1, 2], 'tokens', ['[1,2]']],
    ['lists of tokens', [[1, 2], [3]], 'tokens', ['[1,2]', '[3]']],
  ])('takes %s', (_what, input, form, texts) => {
    expect(textsOf(input)).toEqual(texts);
    expect(parsed(input).request).toMatchObject({ model: 'm', store: false, embedding: { form } });
  });

  it('says how the vectors are to be, and how they are delivered', () => {
    const { request, delivery } = parsed('Hi', { dimensions: 8, encoding_format: 'base64', user: 'u' });
    expect(request).toMatchObject({ user: 'u', embedding: { form: 'texts', dimensions: 8 } });
    expect(delivery).toEqual({ encoding: 'base64' });
    expect(parsed('Hi').delivery).toEqual({ encoding: 'float' });
  });

  it('is kept for a caller that can come back', () => {
    expect(parseEmbeddingRequest({ model: 'm', input: 'Hi' }, { canReturn: true }).request.store).toBe(true);
  });

  it.each([
    [{}, 'missing_required_parameter', 'model'],
    [{ model: 'm' }, 'missing_required_parameter', 'input'],
    [{ model: 'm', input: '' }, 'invalid_value', 'input'],
    [{ model: 'm', input: [] }, 'empty_array', 'input'],
    [{ model: 'm', input: {} }, 'invalid_type', 'input'],
    [{ model: 'm', input: ['a', ''] }, 'invalid_value', 'input[1]'],
    [{ model: 'm', input: ['a', 1] }, 'invalid_type', 'input[1]'],
    [{ model: 'm', input: [{}] }, 'invalid_type', 'input[0]'],
    [{ model: 'm', input: [1, 'a'] }, 'invalid_value', 'input[1]'],
    [{ model: 'm', input: [1, -1] }, 'invalid_value', 'input[1]'],
    [{ model: 'm', input: [[1], []] }, 'empty_array', 'input[1]'],
    [{ model: 'm', input: [[1], [0.5]] }, 'invalid_value', 'input[1][0]'],
    [{ model: 'm', input: Array.from({ length: 2049 }, () => 'a') }, 'array_above_max_length', 'input'],
    [{ model: 'm', input: 'x'.repeat(10_485_761) }, 'string_above_max_length', 'input'],
    [{ model: 'm', input: 'Hi', dimensions: 0 }, 'integer_below_min_value', 'dimensions'],
    [{ model: 'm', input: 'Hi', encoding_format: 'hex' }, 'invalid_value', 'encoding_format'],
  ])('that is wrong names its member: %#', (body, code, param) => {
    expect(() => parseEmbeddingRequest(body)).toThrow(expect.objectContaining({ code, param, status: 400 }));
  });
});

describe('a list of embeddings', () => {
  const base64 = Buffer.from(Float32Array.from([0.5, -1.25]).buffer).toString('base64');
  const ended = (...texts: string[]) => {
    const output = texts.map((text, at) => said(text, `msg_${at}`));
    return completedResponse(output, usageOf(7, 0));
  };

  it.each([
    ['float', [0.5, -1.25]],
    ['base64', base64],
  ] as const)('has a vector for each text, as %s', (encoding, embedding) => {
    const body = Buffer.concat([...embeddingListJson(ended(base64, base64), { encoding })]).toString();
    const list: unknown = JSON.parse(body);
    expect(embeddingListSchema.parse(list)).toEqual(list);
    expect(list).toEqual({
      object: 'list',
      data: [0, 1].map((index) => ({ object: 'embedding', index, embedding })),
      model: 'm',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  it('puts the bytes of long vectors in the place of their marks', () => {
    const bytesOf = () => [Buffer.from(base64.slice(0, 3)), Buffer.from(base64.slice(3))];
    const pieces = embeddingListJson(ended('<mark>'), { encoding: 'float' }, bytesOf);
    expect(Buffer.concat([...pieces]).toString()).toContain('"embedding":[0.5,-1.25]');
  });

  it('is an error when somebody has cancelled it', () => {
    const response: Response = { ...ended(base64), status: 'cancelled' };
    expect(() => embeddingListJson(response, { encoding: 'float' })).toThrow(
      expect.objectContaining({ code: 'server_error' }),
    );
  });
});
