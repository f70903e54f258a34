import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressedRequest, FailedLogins } from './failed-logins.ts';

/** The challenge that goes with a 401, so that a browser asks for the password. */
const operatorChallenge = 'Basic realm="Sluice", charset="UTF-8"';

/** The part of a request that decides about access. An `IncomingMessage` has it. */
export interface OperatorRequest {
  headers: Pick<IncomingHttpHeaders, 'authorization' | 'host'>;
  socket: { remoteAddress?: string | undefined };
}

/** Why a request to an operator's listener is refused, and the headers that go with it. */
export interface OperatorRefusal {
  status: 401 | 403;
  headers: Record<string, string>;
}

/**
 * Checks that a request comes from the operator, like `checkOperator`, and counts wrong tokens: the answers to a client that has
 * sent too many are held back, and say when to try again. A request without any token is not counted, because a browser sends
 * one to be asked for the password.
 */
export async function refuseOperator(
  request: AddressedRequest,
  { token, failedLogins }: { token: string | undefined; failedLogins: Pick<FailedLogins, 'holdBack'> },
): Promise<OperatorRefusal | undefined> {
  const status = checkOperator(request, token);
  if (status === undefined) return undefined;
  if (status === 403) return { status, headers: {} };
  const isAttempt = request.headers.authorization !== undefined;
  const throttled = isAttempt ? await failedLogins.holdBack(request) : undefined;
  const headers = {
    'www-authenticate': operatorChallenge,
    ...(throttled && { 'retry-after': String(Math.max(1, Math.ceil(throttled.waitMs / 1000))) }),
    ...(throttled?.closes && { connection: 'close' }),
  };
  return { status, headers };
}

/**
 * Checks that a request comes from the operator. Returns the status to refuse it with, or undefined to let it pass.
 *
 * With a token, the request must carry it as a bearer token or as the password of basic authentication; otherwise 401.
 * Without one, the request must come from this machine and name a loopback host; otherwise 403. The `Host` header keeps
 * out a page elsewhere that reaches this machine through its user's browser. The peer's address keeps out everybody
 * else, who can send any header.
 */
export function checkOperator(request: OperatorRequest, token: string | undefined): 401 | 403 | undefined {
  const { headers, socket } = request;
  if (token !== undefined) return carries(headers.authorization, token) ? undefined : 401;
  return isLoopbackHost(headers.host) && isLoopbackAddress(socket.remoteAddress) ? undefined : 403;
}

function isLoopbackHost(host: string | undefined): boolean {
  return host !== undefined && /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(host);
}

/** A listener on `::` sees IPv4 addresses in their mapped form. */
function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(::1|(::ffff:)?127(?:\.\d{1,3}){3})$/i.test(address);
}

/** Compares digests in constant time, so that neither the token nor its length can be found by measuring. */
function carries(header: string | undefined, token: string): boolean {
  const [scheme = '', credentials = ''] = header?.split(' ', 2) ?? [];
  const given =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(credentials, 'base64')
          .toString('utf8')
          .replace(/^[^:]*:/, '')
      : credentials;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return /^(basic|bearer)$/i.test(scheme) && timingSafeEqual(digest(given), digest(token));
}
