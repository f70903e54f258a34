import { createHash } from 'node:crypto';

/** Most tool calls that a record keeps of its context, the latest ones. */
export const mostCalls = 1_000;

/** Characters of a digest. 72 bits tell calls apart; a tenant that finds two alike misleads itself alone. */
const digestLength = 12;

/** How long the printed calls of a context can get: each is a digest and a space. */
export const mostCallsLength = mostCalls * (digestLength + 1);

/**
 * Prints ids of tool calls for the field `context_calls`. Clients choose ids freely, so each is kept as a digest of fixed
 * length; lists are joined by writing one behind the other, and cut from the front.
 */
export function printCalls(callIds: readonly string[]): string {
  return callIds
    .slice(-mostCalls)
    .map((id) => `${digestOf(id)} `)
    .join('');
}

/** The digests of these calls, in their order. */
export function callDigests(callIds: readonly string[]): string[] {
  return callIds.map(digestOf);
}

function digestOf(callId: string): string {
  return createHash('sha256').update(callId).digest('base64url').slice(0, digestLength);
}
