import { describe, expect, it } from 'vitest';
import { errorBodySchema, failureBody, failureBodySchema } from './error-body.ts';
import { type ErrorCode, errorCatalogue, errorRow, isErrorCode, isFailureCode } from './errors.ts';
import { ServiceError } from './service-error.ts';

const codes = Object.keys(errorCatalogue).filter(isErrorCode);

describe('the catalogue of errors', () => {
  it.each(codes)('has a whole error for %s', (code) => {
    const error = new ServiceError(code);
    expect(errorBodySchema.parse(error.toBody())).toEqual(error.toBody());
    expect(error.message).toMatch(/^\P{Cc}+\.$|<key>\.$/u);
    expect(error.message).not.toContain('{param}');
    expect(error.status).toBeGreaterThanOrEqual(400);
    expect(error.param).toBe(errorRow(code).param ?? null);
  });

  it('knows its own codes alone', () => {
    expect(isErrorCode('toString')).toBe(false);
    expect(isFailureCode('toString')).toBe(false);
    expect(isFailureCode('not_found')).toBe(false);
  });

  it('says which codes a failed response can carry', () => {
    expect(codes.filter(isFailureCode)).toEqual([
      'context_length_exceeded',
      'previous_response_not_found',
      'invalid_prompt',
      'server_error',
      'model_error',
      'invalid_model_output',
      'upstream_error',
      'server_is_overloaded',
      'timeout',
    ]);
    for (const code of codes.filter(isFailureCode)) {
      expect(failureBodySchema.parse(failureBody(code))).toEqual(failureBody(code));
    }
    expect(failureBodySchema.safeParse(new ServiceError('not_found').toBody()).success).toBe(false);
  });

  it('fills in the body of a failure', () => {
    expect(failureBody('timeout')).toEqual({
      message: 'The response did not finish within the time allowed.',
      type: 'server_error',
      param: null,
      code: 'timeout',
    });
    expect(failureBody('context_length_exceeded').param).toBe('input');
    expect(failureBody('context_length_exceeded', 'Too long.', null)).toMatchObject({
      message: 'Too long.',
      param: null,
    });
  });
});

describe('a service error', () => {
  it('has a body whose every member is filled, and keeps its cause to itself', () => {
    const error = new ServiceError('rate_limit_exceeded', 'Slow down.', { cause: new Error('secret') });
    expect(error.toBody()).toEqual({
      message: 'Slow down.',
      type: 'too_many_requests',
      param: null,
      code: 'rate_limit_exceeded',
    });
    expect(JSON.stringify(error.toBody())).not.toContain('secret');
  });

  it('names its param in the sentence of the catalogue, whatever a client called it', () => {
    expect(new ServiceError('invalid_value', { param: 'a$&b' }).message).toBe("Invalid value for 'a$&b'.");
    expect(new ServiceError('invalid_value').message).toBe('Invalid value for the request.');
  });

  it('may say nothing about a param that the catalogue has', () => {
    expect(new ServiceError('stream_expired').param).toBe('stream');
    expect(new ServiceError('stream_expired', { param: null }).param).toBeNull();
  });

  it.each<[ErrorCode, number | undefined, boolean | undefined]>([
    ['server_is_overloaded', 1_000, undefined],
    ['rate_limit_exceeded', 1_000, undefined],
    ['idempotency_mismatch', undefined, false],
    ['idempotency_result_gone', undefined, false],
    ['upstream_error', undefined, undefined],
    ['invalid_value', undefined, undefined],
  ])('tells an SDK whether to try %s again', (code, retryAfterMs, shouldRetry) => {
    expect(new ServiceError(code)).toMatchObject({ retryAfterMs, shouldRetry });
    expect(new ServiceError(code, { retryAfterMs: 5, shouldRetry: true })).toMatchObject({
      retryAfterMs: 5,
      shouldRetry: true,
    });
  });
});
