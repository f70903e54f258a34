import { ServiceError } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { refusedLine } from './line-answer.ts';

describe('a refused line of a batch', () => {
  it.each([
    ['/v1/responses', 'input'],
    ['/v1/chat/completions', 'messages'],
  ] as const)('of %s names the member of its protocol', (endpoint, param) => {
    const error = new ServiceError('context_length_exceeded', { param: 'input' });
    const { body } = refusedLine(error, { endpoint, requestId: 'req_1' });
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'context_length_exceeded', param } });
  });
});
