import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 32 digits of 62 are 190 random bits. */
const randomLength = 32;
/** 32 bits of checksum take six digits of 62. */
const checksumLength = 6;

/** How our keys begin: those of tenants, and the one made for development. */
export type KeyPrefix = 'sk-sluice-' | 'sk-sluice-dev-';

/**
 * Makes a new API key: prefix, 190 random bits, and a checksum by which a typing mistake or a scanner for
 * leaked secrets can tell a key from other text. Shown once; what is kept is its hash.
 */
export function createKey(prefix: KeyPrefix = 'sk-sluice-'): string {
  const random = Array.from({ length: randomLength }, () => digits.charAt(randomInt(digits.length))).join('');
  return `${prefix}${random}${checksumOf(prefix + random)}`;
}

/**
 * The SHA-256 of a key in lower-case hexadecimal, as it stands in the file after `sha256:`. A slow hash would
 * add nothing: keys are random, so there is no dictionary to try.
 */
export function hashKey(plain: string): string {
  return createHash('sha256').update(plain, 'utf8').digest('hex');
}

/** Whether text is a key made by `createKey`, unharmed. Says nothing about whether anybody accepts it. */
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
