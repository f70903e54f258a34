import { describe, expect, it } from 'vitest';
import { failedInStream, failedStatus, retryAfter } from './failure.ts';

describe('failedStatus', () => {
  const context = JSON.stringify({
    error: { message: "This model's maximum context length is 4096 tokens." },
  });
  const llamaCpp = JSON.stringify({
    error: { code: 400, message: 'too big', type: 'exceed_context_size_error' },
  });
  const openAi = JSON.stringify({ error: { code: 'context_length_exceeded', message: 'Too long.' } });
  it.each([
    [400, '', 'invalid_prompt', 'fail'],
    [422, '{"detail":[{"msg":"bad"}]}', 'invalid_prompt', 'fail'],
    [400, context, 'context_length_exceeded', 'fail'],
    [400, llamaCpp, 'context_length_exceeded', 'fail'],
    [400, openAi, 'context_length_exceeded', 'fail'],
    [500, llamaCpp, 'context_length_exceeded', 'fail'],
    [413, '', 'context_length_exceeded', 'fail'],
    [401, '', 'upstream_error', 'fail'],
    [403, '', 'upstream_error', 'fail'],
    [404, '', 'upstream_error', 'fail'],
    [302, '', 'upstream_error', 'fail'],
    [408, '', 'upstream_error', 'retry'],
    [409, '', 'upstream_error', 'retry'],
    [429, '', 'server_is_overloaded', 'retry'],
    [500, '<html>', 'upstream_error', 'retry'],
    [502, '', 'upstream_error', 'retry'],
    [503, '', 'upstream_error', 'retry'],
    [529, '', 'upstream_error', 'retry'],
  ])('maps %i with body %j to %s, %s', (status, body, code, disposition) => {
    expect(failedStatus('up', status, {}, body)).toMatchObject({ code, disposition, upstreamStatus: status });
  });

  it.each([
    [429, {}, '', 'limited'],
    [429, { 'retry-after': '7' }, '', 'limited'],
    // Nobody pays a bill because we wait.
    [429, {}, '{"error":{"code":"insufficient_quota"}}', undefined],
    [503, {}, '', 'refused'],
    [503, { 'retry-after': '7' }, '', 'limited'],
    [529, { 'retry-after': '7' }, '', 'limited'],
    [500, { 'retry-after': '7' }, '', 'refused'],
    [500, {}, '', 'refused'],
    [502, {}, '', 'refused'],
    [408, {}, '', 'refused'],
    [504, {}, '', 'broken'],
    [524, {}, '', 'broken'],
    [400, {}, '', undefined],
    [401, {}, '', undefined],
    [404, {}, '', undefined],
    [409, {}, '', undefined],
    [500, {}, llamaCpp, undefined],
  ])(
    'says what status %i with headers %j and body %j means of the upstream: %s',
    (status, headers, body, fault) => {
      expect(failedStatus('up', status, headers, body).fault).toBe(fault);
    },
  );

  it('passes on when to come back, where coming back helps', () => {
    expect(failedStatus('up', 429, { 'retry-after': '7' }, '').retryAfterMs).toBe(7000);
    expect(failedStatus('up', 503, { 'retry-after-ms': '120' }, '').retryAfterMs).toBe(120);
    expect(failedStatus('up', 400, { 'retry-after': '7' }, '').retryAfterMs).toBeUndefined();
  });

  it('says nothing of what the upstream said', () => {
    const error = failedStatus(
      'up',
      400,
      { 'x-request-id': 'req-1' },
      '{"error":{"message":"sk-secret at 10.0.0.1"}}',
    );
    expect(JSON.stringify([error.message, error.cause])).not.toMatch(/secret|10\.0/);
    expect(error.upstreamRequestId).toBe('req-1');
  });
});

describe('failedInStream', () => {
  it.each([
    [{ message: 'boom', code: 500 }, 'upstream_error', 'retry'],
    ['boom', 'upstream_error', 'retry'],
    [null, 'upstream_error', 'retry'],
    [{ code: 'rate_limit_exceeded' }, 'server_is_overloaded', 'retry'],
    [{ code: 429 }, 'server_is_overloaded', 'retry'],
    [{ code: 'invalid_prompt' }, 'invalid_prompt', 'fail'],
    [{ code: 'image_too_large' }, 'invalid_prompt', 'fail'],
    [{ code: 'model_error' }, 'model_error', 'retry'],
    [{ code: 'context_length_exceeded' }, 'context_length_exceeded', 'fail'],
    [{ message: 'The prompt is too long.' }, 'context_length_exceeded', 'fail'],
  ])('maps %j to %s, %s', (error, code, disposition) => {
    expect(failedInStream('up', error)).toMatchObject({ code, disposition });
  });
});

describe('the fault of an error in a stream', () => {
  it.each([
    [{ code: 'rate_limit_exceeded' }, 'limited'],
    [{ code: 429 }, 'limited'],
    [{ code: 'server_is_overloaded' }, 'refused'],
    [{ code: 'insufficient_quota' }, undefined],
    [{ message: 'boom', code: 500 }, 'broken'],
    [{ code: 'invalid_prompt' }, undefined],
    [{ code: 'model_error' }, undefined],
  ])('of %j is %s', (error, fault) => {
    expect(failedInStream('up', error).fault).toBe(fault);
  });
});

describe('retryAfter', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  it.each([
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT' }, 10_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('reads %j as %s ms', (headers, expected) => {
    expect(retryAfter(headers, now)).toBe(expected);
  });
});
