import { type OutgoingHttpHeaders, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { type GuardedLookup, PrivateAddressError } from './guarded-lookup.ts';
import { signedHeaders } from './signature.ts';

export interface SendEventOptions {
  /** Resolves the host of the endpoint. */
  lookup: GuardedLookup;
  /** How long the endpoint has for its answer, in milliseconds. */
  timeoutMs: number;
  userAgent: string;
  /** Ends the call. */
  signal?: AbortSignal;
}

export interface SentEvent {
  tenant: string;
  url: string;
  id: string;
  /** In seconds since 1970. */
  timestamp: number;
  body: string;
  secrets: readonly string[];
}

/** The answer of an endpoint, or the reason why there is none. */
export type Answer = { status: number; retryAfterMs?: number } | { fault: string };

/** The longest pause that an endpoint can ask for, in milliseconds: a day. */
const longestRetryAfterMs = 86_400_000;

export type SendEvent = typeof sendEvent;

/**
 * Sends an event once. No redirect is followed, and the body of the answer is not read. Never rejects: what is told of a failure
 * says nothing of the network behind this service.
 */
export async function sendEvent(
  { tenant, url, secrets, ...text }: SentEvent,
  { lookup, timeoutMs, userAgent, signal }: SendEventOptions,
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text.body),
    'user-agent': userAgent,
    ...signedHeaders(text, secrets),
  };
  const ended = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  const lookupOfTenant: LookupFunction = (host, options, done) =>
    lookup(host, { ...options, asker: { tenant, signal: ended } }, done);
  try {
    const { status, retryAfter } = await post(new URL(url), text.body, {
      headers,
      lookup: lookupOfTenant,
      signal: ended,
    });
    const retryAfterMs = retryAfterOf(retryAfter);
    return { status, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}

/** Posts a text over a connection of its own, since a receiver may be silent for hours afterwards. Rejects if there is no answer. */
function post(
  url: URL,
  body: string,
  options: { headers: OutgoingHttpHeaders; lookup: LookupFunction; signal: AbortSignal },
): Promise<{ status: number; retryAfter: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? overHttps : overHttp;
    const sent = request(url, { ...options, method: 'POST', agent: false });
    sent.on('response', (answer) => {
      const { statusCode = 0, headers } = answer;
      resolve({ status: statusCode, retryAfter: headers['retry-after'] });
      // The answer says nothing more; whatever else it would send ends with its connection.
      answer.on('error', () => undefined).destroy();
    });
    sent.on('error', reject);
    // An answer that switches to another protocol ends the connection without an error.
    sent.on('close', () => reject(new Error('The connection ended without an answer')));
    sent.end(body);
  });
}

function retryAfterOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestRetryAfterMs) : undefined;
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no connection';
  if (error instanceof PrivateAddressError) return 'the address is not a public one';
  // The reason for which a call was ended is the cause of its error.
  if (error.cause instanceof Error && error.cause.name === 'TimeoutError') return 'no answer in time';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name does not resolve';
  if (/CERT|TLS|SSL/.test(code)) return 'no valid certificate';
  return 'no connection';
}
