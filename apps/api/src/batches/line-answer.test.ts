import { ServiceError } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { refusedLine, wrongLine } from './line-answer.ts';

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

describe('a line of messages that is wrong', () => {
  it.each([
    ['unsupported_value', 'body.stream', 'invalid_request_error', 'stream'],
    ['line_too_long', null, 'invalid_request_error', null],
    ['request_too_large', null, 'request_too_large', null],
  ])('by %s is answered as a message is that is refused', (code, param, type, told) => {
    const problem = { code, message: 'Wrong.', line: 1, param };
    const { body } = wrongLine(problem, { endpoint: '/v1/messages', requestId: 'req_1' });
    expect(JSON.parse(body)).toMatchObject({
      type: 'error',
      error: { type, message: 'Wrong.', details: { param: told } },
      request_id: 'req_1',
    });
  });
});
