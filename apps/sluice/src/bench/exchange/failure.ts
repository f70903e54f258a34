import { errorCode } from '@sluice/runtime';
import type { Answer } from './exchange.ts';
import { setTime } from '../report/format.ts';

/**
 * Why a request was not answered:
 *
 * - `status`: an HTTP status other than 2xx
 * - `connection`: no connection, or one that broke; a stream that breaks after its status is a `broken_stream`
 * - `timeout`: no end within `--timeout`
 * - `broken_stream`: a stream that ended without a terminal event
 * - `response`: a response that failed or was cancelled
 * - `bad_answer`: something that is no answer of the Responses API
 */
export type FailureKind = 'status' | 'connection' | 'timeout' | 'broken_stream' | 'response' | 'bad_answer';

export interface Failure {
  kind: FailureKind;
  /** The HTTP status, of kind `status` alone. */
  status?: number;
  /** `error.code` of the endpoint, or the code of a lost connection. */
  code?: string;
  message: string;
  /** The value of `Retry-After`, in milliseconds. */
  retryAfterMs?: number;
  isRetryable: boolean;
}

/** Codes and messages are shown and kept, so they are short. */
const mostCode = 64;
const mostMessage = 200;

const retryableStatuses = [408, 429, 500, 502, 503, 504];

/** The failure of a request that was answered with a status other than 2xx. */
export function failedStatus({ status, headers, text }: Answer): Failure {
  const error = readError(text);
  const retryAfterMs = readRetryAfter(headers);
  const { type, message } = error;
  const code = error.code ?? type;
  return {
    kind: 'status',
    status,
    ...(code !== undefined && { code }),
    message: message ?? '',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    isRetryable: retryableStatuses.includes(status) && headers['x-should-retry'] !== 'false',
  };
}

/** The failure of a response that ended without an answer. */
export function failedResponse(error: unknown, fallbackCode: string): Failure {
  const { code = fallbackCode, message = '' } = errorFields(error);
  return { kind: 'response', code, message, isRetryable: false };
}

/** The failure of a request whose transport failed before the status. */
export function lostConnection(error: Error): Failure {
  return {
    kind: 'connection',
    code: codeOf(error),
    message: short(error.message, mostMessage) ?? '',
    isRetryable: true,
  };
}

/** The failure of a stream that was cut or simply ended. */
export function brokenStream(error?: Error): Failure {
  return {
    kind: 'broken_stream',
    ...(error && { code: codeOf(error) }),
    message: error ? (short(error.message, mostMessage) ?? '') : 'ended without a terminal event',
    isRetryable: false,
  };
}

export function badAnswer(message: string): Failure {
  return { kind: 'bad_answer', message, isRetryable: false };
}

export function timedOut(timeoutMs: number): Failure {
  return { kind: 'timeout', message: `no end within ${setTime(timeoutMs)}`, isRetryable: false };
}

/** Errors of many addresses at once have the code of the first one. */
function codeOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return short(errorCode(error) ?? errorCode(first) ?? error.name, mostCode) ?? '';
}

/** The value of `Retry-After` or `Retry-After-Ms`, in milliseconds. */
function readRetryAfter(headers: Answer['headers']): number | undefined {
  const ms = headers['retry-after-ms'];
  if (typeof ms === 'string' && /^\d{1,9}(?:\.\d+)?$/.test(ms)) return Number(ms);
  const written = headers['retry-after'];
  if (typeof written !== 'string') return undefined;
  if (/^\d{1,9}(?:\.\d+)?$/.test(written)) return Number(written) * 1000;
  const date = Date.parse(written);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function readError(text: string): ErrorFields {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null) return {};
    return errorFields('error' in body ? body.error : body);
  } catch {
    return {};
  }
}

interface ErrorFields {
  code?: string;
  type?: string;
  message?: string;
}

/** The fields of an `error` of the API. Some servers send a text in its place, or a number as the code. */
function errorFields(error: unknown): ErrorFields {
  if (typeof error === 'string') return { message: short(error, mostMessage) ?? '' };
  if (typeof error !== 'object' || error === null) return {};
  const field = (name: string, most: number) => {
    const value: unknown = Object.entries(error).find(([each]) => each === name)?.[1];
    return typeof value === 'string' || typeof value === 'number' ? short(String(value), most) : undefined;
  };
  const code = field('code', mostCode);
  const type = field('type', mostCode);
  const message = field('message', mostMessage);
  return {
    ...(code !== undefined && { code }),
    ...(type !== undefined && { type }),
    ...(message !== undefined && { message }),
  };
}

/** A text of one line that may be printed on a terminal. Undefined for one without characters. */
function short(text: string, most: number): string | undefined {
  const line = text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
  if (line === '') return undefined;
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
