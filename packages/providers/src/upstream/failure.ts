import type { FailureCode } from '@sluice/contract';
import { countOf, isObject, textOf } from '../json-fields.ts';
import { ProviderError, type Disposition } from '../provider.ts';

/**
 * Maps every failure of an upstream to a `ProviderError`.
 *
 * Messages name the provider and what happened. The upstream's own words only help to classify the failure and are not
 * passed on: they can hold an address, a key or part of a prompt.
 */

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface Kind {
  code: FailureCode;
  disposition: Disposition;
}

const broken: Kind = { code: 'upstream_error', disposition: 'retry' };
const misconfigured: Kind = { code: 'upstream_error', disposition: 'fail' };
const overloaded: Kind = { code: 'server_is_overloaded', disposition: 'retry' };
const invalid: Kind = { code: 'invalid_prompt', disposition: 'fail' };
const tooLong: Kind = { code: 'context_length_exceeded', disposition: 'fail' };

/** The answer was not a 200. Its status decides; its body only tells whether the context was too long. */
export function failedStatus(
  providerId: string,
  status: number,
  headers: Headers,
  body: string,
): ProviderError {
  const kind = kindOfStatus(status, body);
  const retryAfterMs = kind.disposition === 'retry' ? retryAfter(headers, Date.now()) : undefined;
  return new ProviderError(kind.code, `Provider '${providerId}' answered with status ${status}.`, {
    disposition: kind.disposition,
    upstreamStatus: status,
    ...upstreamRequest(headers),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function kindOfStatus(status: number, body: string): Kind {
  if (status === 413) return tooLong;
  if (status === 400 || status === 422) return meansTooLong(errorOf(body)) ? tooLong : invalid;
  if (status === 429) return overloaded;
  if (status === 408 || status === 409 || status === 425) return broken;
  // Some servers answer 500 to a prompt that is too long; a retry would fail in the same way.
  if (status >= 500) return meansTooLong(errorOf(body)) ? tooLong : broken;
  return misconfigured;
}

/** An error object inside a stream that began with a 200, or the error of a failed response. */
export function failedInStream(providerId: string, error: unknown, request?: UpstreamRequest): ProviderError {
  const { code, disposition } = kindOfError(error);
  return new ProviderError(code, `Provider '${providerId}' reported an error in its stream.`, {
    disposition,
    ...request,
  });
}

const invalidCodes =
  /^(?:invalid_prompt|invalid_image\w*|image_\w+|\w*_image_\w+|failed_to_download_image|image_file_\w+|bio_policy|cyber_policy)$/;
const overloadedCodes =
  /^(?:rate_limit\w*|too_many_requests|insufficient_quota|server_is_overloaded|overloaded\w*|slow_down|429)$/;

function kindOfError(error: unknown): Kind {
  if (meansTooLong(error)) return tooLong;
  const codes = isObject(error) ? [error['code'], error['type']].map(String) : [];
  if (codes.some((code) => invalidCodes.test(code))) return invalid;
  if (codes.some((code) => overloadedCodes.test(code))) return overloaded;
  if (codes.some((code) => code === 'model_error' || code === 'invalid_model_output')) {
    return { code: 'model_error', disposition: 'retry' };
  }
  return broken;
}

/** The connection failed, broke, or carried something that is not an answer. Worth a retry. */
export function brokenStream(
  providerId: string,
  what: string,
  details: UpstreamRequest & { cause?: unknown } = {},
): ProviderError {
  return new ProviderError('upstream_error', `Provider '${providerId}' ${what}.`, {
    disposition: 'retry',
    ...details,
  });
}

/** The answer is larger than what is read of one. It is not tried again, because the same answer would come again. */
export function tooLarge(providerId: string, what: string, request: UpstreamRequest): ProviderError {
  return new ProviderError('upstream_error', `Provider '${providerId}' sent ${what}.`, {
    disposition: 'fail',
    publicMessage: `The model server sent ${what}.`,
    ...request,
  });
}

/** The request could not be sent because of the operator's settings, so a retry would fail as well. */
export function unsendable(providerId: string, cause: unknown): ProviderError {
  return new ProviderError(
    'upstream_error',
    `Provider '${providerId}' has settings that no request can use.`,
    {
      disposition: 'fail',
      cause,
    },
  );
}

export interface UpstreamRequest {
  upstreamStatus?: number;
  upstreamRequestId?: string;
}

/** The upstream's id of the request, if it sent one that is safe to log. */
export function upstreamRequest(headers: Headers): UpstreamRequest {
  for (const name of ['x-request-id', 'request-id', 'x-requestid']) {
    const id = headers[name];
    if (typeof id === 'string' && /^[\w.:-]{1,128}$/.test(id)) return { upstreamRequestId: id };
  }
  return {};
}

/** `retry-after-ms`, or `Retry-After` in seconds or as a date, in milliseconds from now; never negative. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const milliseconds = numberIn(headers['retry-after-ms']);
  if (milliseconds !== undefined) return countOf(Math.ceil(milliseconds));
  const value = headers['retry-after'];
  const seconds = numberIn(value);
  if (seconds !== undefined) return countOf(Math.ceil(seconds * 1000));
  // An HTTP date begins with the name of a day. Date.parse would accept a stray number as well.
  const date = typeof value === 'string' && /^\s*[A-Za-z]/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function numberIn(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && /^\s*\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

function errorOf(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) && parsed['error'] !== undefined ? parsed['error'] : parsed;
  } catch {
    return body;
  }
}

const tooLongCodes = /context_length|context_size|context_window|string_above_max_length|prompt_too_long/i;
const tooLongWords =
  /(?:context (?:length|size|window)|(?:prompt|input|request)(?: \w+){0,3} (?:is )?too (?:long|large)|too many (?:input |prompt )?tokens|maximum (?:input|prompt) (?:length|tokens))/i;

function meansTooLong(error: unknown): boolean {
  if (typeof error === 'string') return tooLongWords.test(error);
  if (!isObject(error)) return false;
  const codes = [error['code'], error['type']];
  if (codes.some((code) => typeof code === 'string' && tooLongCodes.test(code))) return true;
  return tooLongWords.test(textOf(error['message']) ?? textOf(error['detail']) ?? '');
}
