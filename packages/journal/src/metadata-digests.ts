import { hash } from 'node:crypto';

/** Characters of a digest: 66 bits of SHA-256. Nobody finds a second pair with the digest of another. */
const digestLength = 11;

/**
 * The digest of a pair of a response's metadata, as the journal keeps it. Its length is fixed, so that nobody can fill the
 * store with it, and the pair cannot be read back.
 */
export function digestOfPair(key: string, value: string): string {
  return hash('sha256', `${key}\0${value}`, 'base64url').slice(0, digestLength);
}

/** All pairs of a response, joined by spaces; empty without metadata. */
export function digestsOf(metadata: Readonly<Record<string, string>> | undefined): string {
  if (metadata === undefined) return '';
  return Object.entries(metadata)
    .map(([key, value]) => digestOfPair(key, value))
    .join(' ');
}

/** Whether a pair is among the digests of a response. */
export function hasDigest(digests: string, digest: string): boolean {
  for (let at = digests.indexOf(digest); at >= 0; at = digests.indexOf(digest, at + 1)) {
    if (at % (digestLength + 1) === 0) return true;
  }
  return false;
}
