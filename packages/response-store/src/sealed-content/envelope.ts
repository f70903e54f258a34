import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/** A secret of 32 bytes, and the four bytes by which sealed content names it. Plain data that a thread can be sent. */
export interface SealingKey {
  id: Uint8Array;
  secret: Uint8Array;
}

/** What sealed content belongs to. Content of one tenant or purpose does not open as that of another. */
export interface Seal {
  tenant: string;
  purpose: 'reasoning' | 'compaction';
}

/** Longest sealed content, in characters: the contract takes no longer one back. */
export const mostSealedLength = 10_485_760;

/**
 * An envelope in base64url: version, id of the key, salt, tag, ciphertext.
 *
 * Each has a key of its own, derived from the secret and the salt, so that no number of envelopes wears the secret out, as
 * random nonces of AES-GCM under one key would.
 */
const version = 1;
const idLength = 4;
const saltLength = 16;
const tagLength = 16;
const headLength = 1 + idLength + saltLength + tagLength;
const keyLength = 32;
const nonceLength = 12;

/** Makes a key of a secret text, which has to be random and long. */
export function sealingKeyOf(secretText: string): SealingKey {
  const secret = createHash('sha256').update('sluice sealing key\0').update(secretText).digest();
  const id = createHash('sha256')
    .update('id of a sealing key\0')
    .update(secret)
    .digest()
    .subarray(0, idLength);
  return { id: new Uint8Array(id), secret: new Uint8Array(secret) };
}

/** Seals a text; undefined when it is too long to be taken back. */
export function seal(text: string, key: SealingKey, about: Seal): string | undefined {
  const bytes = headLength + Buffer.byteLength(text);
  if (Math.ceil((bytes * 4) / 3) > mostSealedLength) return undefined;
  const salt = randomBytes(saltLength);
  const { derived, nonce, associated } = derive(key, salt, about);
  const cipher = createCipheriv('aes-256-gcm', derived, nonce, { authTagLength: tagLength });
  cipher.setAAD(associated);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const head = [Uint8Array.of(version), key.id, salt, cipher.getAuthTag()];
  return Buffer.concat([...head, sealed]).toString('base64url');
}

/** The text that was sealed; undefined for anything that `seal` did not make with one of these keys and for this. */
export function open(envelope: string, keys: readonly SealingKey[], about: Seal): string | undefined {
  if (envelope.length > mostSealedLength) return undefined;
  const bytes = Buffer.from(envelope, 'base64url');
  // The decoder skips what it does not know. One text alone is the envelope.
  if (bytes.length < headLength || bytes.toString('base64url') !== envelope) return undefined;
  if (bytes[0] !== version) return undefined;
  const id = bytes.subarray(1, 1 + idLength);
  const key = keys.find((each) => id.equals(each.id));
  if (!key) return undefined;
  const salt = bytes.subarray(1 + idLength, 1 + idLength + saltLength);
  const { derived, nonce, associated } = derive(key, salt, about);
  const decipher = createDecipheriv('aes-256-gcm', derived, nonce, { authTagLength: tagLength });
  decipher.setAAD(associated);
  decipher.setAuthTag(bytes.subarray(headLength - tagLength, headLength));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(headLength)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

function derive({ secret }: SealingKey, salt: Uint8Array, { tenant, purpose }: Seal) {
  const made = Buffer.from(
    hkdfSync('sha256', secret, salt, `sluice sealed content ${version}`, keyLength + nonceLength),
  );
  return {
    derived: made.subarray(0, keyLength),
    nonce: made.subarray(keyLength),
    associated: Buffer.from(JSON.stringify([version, purpose, tenant])),
  };
}
