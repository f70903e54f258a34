import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ServiceError } from '@sluice/contract';
import type { Session } from '@sluice/contract/admin';
import type { FailedLogins } from '@sluice/runtime';

/**
 * The header of the action token. No page elsewhere can send it: a browser asks first whether a foreign page may, and this
 * service never says so.
 */
export const actionTokenHeader = 'sluice-action-token';

/** Decides whether a request may change something. */
export interface ActionGate {
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  /** Counts wrong tokens. */
  failedTokens: Pick<FailedLogins, 'count'>;
}

/**
 * Whether a request may change something.
 *
 * @throws {ServiceError} `rate_limit_exceeded` for a wrong token of a client that has sent too many.
 */
export function actingOf(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  { actionToken, failedTokens }: ActionGate,
): Session['acting'] {
  if (actionToken === undefined) return 'off';
  const given = tokenIn(headers);
  if (given === undefined) return 'locked';
  if (isSame(given, actionToken)) return 'open';
  const waitMs = failedTokens.count({ headers, socket });
  if (waitMs === undefined) return 'locked';
  const message = 'Too many wrong action tokens came from your address. Wait, and send the right one.';
  throw new ServiceError('rate_limit_exceeded', message, { retryAfterMs: waitMs });
}

/** @throws {ServiceError} that says what to change, for a request that may not change anything. */
export function requireActing(request: Pick<IncomingMessage, 'headers' | 'socket'>, gate: ActionGate): void {
  const acting = actingOf(request, gate);
  if (acting === 'off') throw new ServiceError('actions_off');
  if (acting === 'locked') throw new ServiceError('invalid_action_token');
}

function tokenIn(headers: IncomingHttpHeaders): string | undefined {
  const given = headers[actionTokenHeader];
  return typeof given === 'string' && given !== '' ? given : undefined;
}

/** Compares digests, which have one length and are equal in constant time. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
