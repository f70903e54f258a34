import { createHmac } from 'node:crypto';
import { randomBytes } from '@sluice/runtime';

/** Random bytes of a secret. Standard Webhooks has 24 to 64. */
const secretBytes = 32;
const secretPrefix = 'whsec_';

/** A secret of an endpoint, as its owner is shown it once. */
export function newSecret(): string {
  return secretPrefix + Buffer.from(randomBytes(secretBytes)).toString('base64');
}

/** The part of a secret that is shown again: enough to tell it from another one. */
export function hintOf(secret: string): string {
  return `${secretPrefix}…${secret.slice(-5)}`;
}

export interface SignedText {
  /** The same for every try of a delivery. It has no full stop. */
  id: string;
  /** The time of this try, in seconds since 1970: receivers refuse one that is more than five minutes from theirs. */
  timestamp: number;
  body: string;
}

/**
 * The headers of a request that is signed by each of these secrets (Standard Webhooks, "signature scheme"). A receiver that knows one of
 * them takes it, so two are sent while one replaces the other.
 */
export function signedHeaders({ id, timestamp, body }: SignedText, secrets: readonly string[]) {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
