import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 32 digits to base 62 hold 190 random bits. */
const randomLength = 32;
/** A checksum of 32 bits takes six digits to base 62. */
const checksumLength = 6;

/** The prefix of a tenant's key and of the development key. */
export type KeyPrefix = 'sk-sluice-' | 'sk-sluice-dev-';

/**
 * Makes a new API key: a prefix, 190 random bits, and a checksum that reveals typing mistakes and lets scanners for
 * leaked secrets recognise a key. The key is shown once; only its hash is kept.
 */
export function createKey(prefix: KeyPrefix = 'sk-sluice-'): string {
  const random = Array.from({ length: randomLength }, () => digits.charAt(randomInt(digits.length))).join('');
  return `${prefix}${random}${checksumOf(prefix + random)}`;
}

/** Whether a text has the format and the checksum of `createKey`. A service need not accept such a key. */
export function wellFormedKey(plain: string): boolean {
  const form = /^(sk-sluice-(?:dev-)?)([0-9A-Za-z]{38})$/.exec(plain);
  if (form === null) return false;
  return plain.endsWith(checksumOf(plain.slice(0, -checksumLength)));
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (let position = 0; position < checksumLength; position++) {
    checksum = digits.charAt(rest % digits.length) + checksum;
    rest = Math.floor(rest / digits.length);
  }
  return checksum;
}
