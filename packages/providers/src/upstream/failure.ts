import type { FailureCode } from '@sluice/contract';
import { countOf, isObject, textOf } from '../json-fields.ts';
import { ProviderError, type Disposition, type UpstreamFault } from '../provider.ts';
import { upstreamWords } from './upstream-words.ts';

/**
 * Maps every failure of an upstream to a `ProviderError`.
 *
 * Messages name the provider and what happened. The upstream's own words help to classify the failure, and are kept apart from the
 * message: they can hold an address, a key or part of a prompt.
 */

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface Kind {
  code: FailureCode;
  disposition: Disposition;
  fault?: UpstreamFault;
}

/** Worth another try, and no sign that the upstream is down. */
const passing: Kind = { code: 'upstream_error', disposition: 'retry' };
const refused: Kind = { ...passing, fault: 'refused' };
const broken: Kind = { ...passing, fault: 'broken' };
const misconfigured: Kind = { code: 'upstream_error', disposition: 'fail' };
const limited: Kind = { code: 'server_is_overloaded', disposition: 'retry', fault: 'limited' };
const overloaded: Kind = { code: 'server_is_overloaded', disposition: 'retry', fault: 'refused' };
/** A quota comes back when somebody pays, so nothing waits for it. */
const outOfQuota: Kind = { code: 'server_is_overloaded', disposition: 'retry' };
const invalid: Kind = { code: 'invalid_prompt', disposition: 'fail' };
const tooLong: Kind = { code: 'context_length_exceeded', disposition: 'fail' };

/** The answer was not a 200. Its status decides; its body only tells whether the context was too long. */
export function failedStatus(
  providerId: string,
  status: number,
  headers: Headers,
  body: string,
): ProviderError {
  const { code, disposition, fault } = kindOfStatus(status, body);
  const retryAfterMs = disposition === 'retry' ? retryAfter(headers, Date.now()) : undefined;
  // A busy server that says when to come back is alive.
  const isBusy = busyStatuses.has(status) && fault === 'refused' && retryAfterMs !== undefined;
  return new ProviderError(code, `Provider '${providerId}' answered with status ${status}.`, {
    disposition,
    ...(fault !== undefined && { fault: isBusy ? 'limited' : fault }),
    upstreamStatus: status,
    ...upstreamRequest(headers),
    ...upstreamWords(body),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** A gateway gave up on a server that may still be generating: 504, and Cloudflare's own. */
const gatewayTimeouts: ReadonlySet<number> = new Set([504, 524]);

/** 503, and Anthropic's own status for an overload. */
const busyStatuses: ReadonlySet<number> = new Set([503, 529]);

function kindOfStatus(status: number, body: string): Kind {
  if (status === 413) return tooLong;
  if (status === 400 || status === 422) return meansTooLong(errorOf(body)) ? tooLong : invalid;
  if (status === 429) return codesOf(errorOf(body)).includes(quotaCode) ? outOfQuota : limited;
  if (status === 408) return refused;
  if (status === 409 || status === 425) return passing;
  // Some servers answer 500 to a prompt that is too long; a retry would fail in the same way.
  if (status >= 500 && meansTooLong(errorOf(body))) return tooLong;
  if (gatewayTimeouts.has(status)) return broken;
  if (status >= 500) return refused;
  return misconfigured;
}

/** An error object inside a stream that began with a 200, or the error of a failed response. */
export function failedInStream(providerId: string, error: unknown, request?: UpstreamRequest): ProviderError {
  const { code, disposition, fault } = kindOfError(error);
  return new ProviderError(code, `Provider '${providerId}' reported an error in its stream.`, {
    disposition,
    ...(fault !== undefined && { fault }),
    ...request,
    ...upstreamWords(error),
  });
}

const invalidCodes =
  /^(?:invalid_prompt|invalid_image\w*|image_\w+|\w*_image_\w+|failed_to_download_image|image_file_\w+|bio_policy|cyber_policy)$/;
const limitedCodes = /^(?:rate_limit\w*|too_many_requests|429)$/;
const overloadedCodes = /^(?:server_is_overloaded|overloaded\w*|slow_down)$/;
const quotaCode = 'insufficient_quota';

function kindOfError(error: unknown): Kind {
  if (meansTooLong(error)) return tooLong;
  const codes = codesOf(error);
  if (codes.some((code) => invalidCodes.test(code))) return invalid;
  if (codes.includes(quotaCode)) return outOfQuota;
  if (codes.some((code) => limitedCodes.test(code))) return limited;
  if (codes.some((code) => overloadedCodes.test(code))) return overloaded;
  if (codes.some((code) => code === 'model_error' || code === 'invalid_model_output')) {
    return { code: 'model_error', disposition: 'retry' };
  }
  return broken;
}

function codesOf(error: unknown): string[] {
  return isObject(error) ? [error['code'], error['type']].map(String) : [];
}

/** The connection broke, or carried something that is not an answer. Worth a retry. */
export function brokenStream(
  providerId: string,
  what: string,
  details: UpstreamRequest & { fault?: UpstreamFault; cause?: unknown } = {},
): ProviderError {
  return new ProviderError('upstream_error', `Provider '${providerId}' ${what}.`, {
    disposition: 'retry',
    fault: 'broken',
    ...details,
  });
}

/** The answer exceeds a limit of size. It is not tried again, because the same answer would come again. */
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
  /(?:context (?:length|size|window)|(?:prompt|input|request)(?: \w+){0,3} (?:is )?too (?:long|large)|too many (?:input |prompt )?tokens|maximum (?:input|prompt) (?:length|tokens)|token count \(?\d*\)? ?exceeds the maximum)/i;

function meansTooLong(error: unknown): boolean {
  if (typeof error === 'string') return tooLongWords.test(error);
  if (!isObject(error)) return false;
  const codes = [error['code'], error['type']];
  if (codes.some((code) => typeof code === 'string' && tooLongCodes.test(code))) return true;
  return tooLongWords.test(textOf(error['message']) ?? textOf(error['detail']) ?? '');
}
