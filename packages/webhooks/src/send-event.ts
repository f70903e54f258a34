import { type Dispatcher, request } from 'undici';
import { PrivateAddressError } from './guarded-dispatcher.ts';
import { signedHeaders } from './signature.ts';

export interface SendEventOptions {
  dispatcher: Dispatcher;
  /** How long the endpoint has for its answer, in milliseconds. */
  timeoutMs: number;
  userAgent: string;
  /** Ends the call. */
  signal?: AbortSignal;
}

export interface SentEvent {
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

/**
 * Sends an event once. No redirect is followed, and the body of the answer is not read. Never rejects: what is told of a failure
 * says nothing of the network behind this service.
 */
export async function sendEvent(
  { url, secrets, ...text }: SentEvent,
  { dispatcher, timeoutMs, userAgent, signal }: SendEventOptions,
): Promise<Answer> {
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': userAgent,
        ...signedHeaders(text, secrets),
      },
      body: text.body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    });
    // The answer says nothing more; whatever else it would send ends with its connection.
    body.on('error', () => undefined).destroy();
    const retryAfterMs = retryAfterOf(headers['retry-after']);
    return { status: statusCode, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  } catch (error) {
    return { fault: faultOf(error) };
  }
}

function retryAfterOf(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestRetryAfterMs) : undefined;
}

function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no connection';
  if (error instanceof PrivateAddressError || error.cause instanceof PrivateAddressError) {
    return 'the address is not a public one';
  }
  if (error.name === 'TimeoutError' || /timeout/i.test(error.name)) return 'no answer in time';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code.startsWith('UND_ERR') && /TIMEOUT/.test(code)) return 'no answer in time';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name does not resolve';
  if (/CERT|TLS|SSL/.test(code)) return 'no valid certificate';
  return 'no connection';
}
