import { describe, expect, it } from 'vitest';
import { failedInStream, failedStatus } from './failure.ts';

const wordsOf = (body: string) => failedStatus('p', 500, {}, body).upstreamWords;

describe('the words of an upstream', () => {
  it.each([
    ['{"error":{"message":"CUDA out of memory"}}', 'CUDA out of memory'],
    ['{"error":"CUDA out of memory"}', 'CUDA out of memory'],
    ['{"message":"CUDA out of memory","code":500}', 'CUDA out of memory'],
    ['{"detail":"CUDA out of memory"}', 'CUDA out of memory'],
    ['{"detail":[{"msg":"Too long","input":"the prompt"}]}', 'Too long'],
    ['"CUDA out of memory"', 'CUDA out of memory'],
    ['CUDA out of memory\n', 'CUDA out of memory'],
    ['<html><head><title>x</title></head><body><h1>Bad Gateway</h1></body>', 'Bad Gateway'],
    ['x'.repeat(9_000), 'x'.repeat(400)],
  ])('are the sentence of %s', (body, words) => {
    expect(wordsOf(body)).toBe(words);
  });

  it.each(['', '{}', '[]', 'null', '{"error":{"input":"the prompt"}}', '{"error":{"error":null}}'])(
    'are none in %s',
    (body) => {
      expect(wordsOf(body)).toBeUndefined();
    },
  );

  it('are kept of an error in a stream, and shown by nothing that prints the error', () => {
    const error = failedInStream('p', { message: 'Quotes the prompt', code: 'x' });
    expect(error.upstreamWords).toBe('Quotes the prompt');
    expect(JSON.stringify([error, Object.entries(error)])).not.toContain('Quotes');
    expect(`${error.message} ${error.stack} ${String(error.cause)}`).not.toContain('Quotes');
  });
});
