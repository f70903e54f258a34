import type { LineAnswer } from '@sluice/batches';
import { type LineEndpoint, type OutputItem, type Response, ServiceError } from '@sluice/contract';
import { LongTexts } from '@sluice/response-store';
import { completedResponse, said, usageOf } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { answerOfLine, refusedLine, wrongLine } from './line-answer.ts';

const textOf = (body: LineAnswer['body']) =>
  typeof body === 'string' ? body : Buffer.concat([...body]).toString('utf8');

describe('a refused line of a batch', () => {
  it.each([
    ['/v1/responses', 'input'],
    ['/v1/chat/completions', 'messages'],
  ] as const)('of %s names the member of its protocol', (endpoint, param) => {
    const error = new ServiceError('context_length_exceeded', { param: 'input' });
    const { body } = refusedLine(error, { endpoint, requestId: 'req_1' });
    expect(JSON.parse(textOf(body))).toMatchObject({ error: { code: 'context_length_exceeded', param } });
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
    expect(JSON.parse(textOf(body))).toMatchObject({
      type: 'error',
      error: { type, message: 'Wrong.', details: { param: told } },
      request_id: 'req_1',
    });
  });
});

describe('the answer to a line of a batch that is long', () => {
  const long = 'x'.repeat(10_000);

  async function bodyOf(endpoint: LineEndpoint, output: OutputItem[]): Promise<LineAnswer['body']> {
    const whole = completedResponse(output, usageOf(1, 1));
    const { hollow, texts } = await LongTexts.takenFrom(Buffer.from(JSON.stringify(whole)));
    const response = JSON.parse(hollow) as Response; // with marks in it
    const answer = { response, texts, free: () => undefined };
    return (await answerOfLine(answer, { endpoint, requestId: 'req_1' })).body;
  }

  it.each<[LineEndpoint, unknown]>([
    ['/v1/responses', { output: [{ content: [{ text: long }] }] }],
    ['/v1/chat/completions', { choices: [{ message: { content: long } }] }],
    ['/v1/messages', { content: [{ text: long }] }],
  ])('of %s is made of its pieces as it is read', async (endpoint, told) => {
    const body = await bodyOf(endpoint, [said(long)]);
    expect(body).not.toBeTypeOf('string');
    expect(JSON.parse(textOf(body))).toMatchObject(told as object);
  });

  it('of messages has the arguments of a call as an object', async () => {
    const args = JSON.stringify({ text: long });
    const call = { id: 'fc_1', call_id: 'call_1', name: 'f', status: 'completed' } as const;
    const body = await bodyOf('/v1/messages', [{ type: 'function_call', ...call, arguments: args }]);
    expect(JSON.parse(textOf(body))).toMatchObject({
      content: [{ type: 'tool_use', input: { text: long } }],
    });
  });

  it('of embeddings is made a vector at a time', async () => {
    const vector = Buffer.from(new Float32Array(4_000).fill(0.5).buffer).toString('base64');
    const body = await bodyOf('/v1/embeddings', [said(vector), said(vector, 'msg_2')]);
    expect(body).not.toBeTypeOf('string');
    const sizes = Array.from(body as Iterable<Uint8Array>, ({ length }) => length);
    const numbers = JSON.stringify(Array.from({ length: 4_000 }, () => 0.5));
    expect(sizes.filter((size) => size > 100)).toEqual([numbers.length, numbers.length]);
  });
});
