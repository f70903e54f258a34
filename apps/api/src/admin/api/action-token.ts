import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '@sluice/contract';
import type { Session } from '@sluice/contract/admin';

/**
 * The header of the action token. No page elsewhere can send it: a browser asks first whether a foreign page may, and this
 * service never says so.
 */
export const actionTokenHeader = 'sluice-action-token';

/** Whether a request may change something. */
export function actingOf(headers: IncomingHttpHeaders, token: string | undefined): Session['acting'] {
  if (token === undefined) return 'off';
  const given = headers[actionTokenHeader];
  return typeof given === 'string' && isSame(given, token) ? 'open' : 'locked';
}

/** @throws {ServiceError} that says what to change, for a request that may not change anything. */
export function requireActing(headers: IncomingHttpHeaders, token: string | undefined): void {
  const acting = actingOf(headers, token);
  if (acting === 'off') throw new ServiceError('actions_off');
  if (acting === 'locked') throw new ServiceError('invalid_action_token');
}

/** Compares digests, which have one length and are equal in constant time. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
