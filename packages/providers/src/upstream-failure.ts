import type { FailureCode } from '@sluice/contract';
import { countOf, isObject, textOf } from './json-fields.ts';
import { ProviderError, type Disposition } from './provider.ts';

/**
 * Every way in which an upstream can fail, as a `ProviderError`.
 *
 * Messages name the provider and what happened. An upstream's own words are read to tell the kinds apart and
 * go nowhere: they can carry an address, a key or a piece of somebody's prompt.
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

/** The answer was not a 200: its status decides, and its body only whether the context was too long. */
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
  // Some servers answer 500 when a prompt does not fit; the same prompt will not fit a second time.
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

/** The connection failed, broke, or carried something that is no answer. Worth another try. */
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

/** The request could not even be written: the operator's settings have to change before it can. */
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

/** The upstream's name for the request, if it gave one that is safe in a log line. */
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
  // A date of HTTP begins with the name of a day; Date.parse would also make one of a stray number.
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
