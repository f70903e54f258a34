import { randomBytes } from 'node:crypto';
import { checkNewKey, createKey, hashKey, type Settings, stateOfKey, type StoredKey } from '@sluice/config';
import { FatalError } from '@sluice/runtime';
import { refuseRules } from './key-flags.ts';
import type { KeyOperator, StoredKeys } from './key-operator.ts';

/** A key that was made, with the plain key, which is kept nowhere. */
export interface IssuedKey {
  id: string;
  plain: string;
  /** Whether it is stored as safely as the settings ask for. */
  isSafe: boolean;
}

export interface RotatedKey extends IssuedKey {
  tenant: string;
  /** Until when the old key is taken, in ISO 8601; undefined when it is no longer. */
  oldUntil: string | undefined;
}

/** @throws {FatalError} that names the flags, when the key makes no sense or contradicts another one. */
export async function createStoredKey(
  { settings, change }: KeyOperator,
  wanted: Record<string, unknown>,
): Promise<IssuedKey> {
  const { id, plain, identity } = newIdentity();
  const isSafe = await change(({ keys, now }) => {
    if (keys.some((key) => key.id === id)) return [];
    const rules = checkNewKey({ wanted, settings, stored: keys, now });
    if ('problems' in rules) throw refuseRules(rules.problems);
    return [{ ...rules, ...identity, createdAt: timeOf(now) }];
  });
  return { id, plain, isSafe };
}

/** Revokes a key. One that is revoked already stays as it is. */
export async function revokeStoredKey(
  { settings, change }: KeyOperator,
  id: string,
): Promise<{ key: StoredKey; isSafe: boolean }> {
  let revoked: StoredKey | undefined;
  const isSafe = await change((stored) => {
    const key = findKey(stored, id, settings);
    revoked = { ...key, revokedAt: key.revokedAt ?? timeOf(stored.now) };
    return key.revokedAt === undefined ? [revoked] : [];
  });
  if (revoked === undefined) throw new Error('no key was looked at');
  return { key: revoked, isSafe };
}

/**
 * Makes a key with the rules of another one, which is taken for `graceMs` from now on, and no longer than it was before.
 * Of a tenant that the file describes, the new key leaves that to the file.
 */
export async function rotateStoredKey(
  { settings, change }: KeyOperator,
  { id, graceMs }: { id: string; graceMs: number },
): Promise<RotatedKey> {
  const { id: newId, plain, identity } = newIdentity();
  let rotated: Pick<RotatedKey, 'tenant' | 'oldUntil'> | undefined;
  const isSafe = await change((stored) => {
    if (stored.keys.some((key) => key.id === newId)) return [];
    const { now, keys } = stored;
    const old = findKey(stored, id, settings);
    refuseRotation(old, now);
    const rules = checkNewKey({ wanted: rulesOf(old, settings), settings, stored: keys, now });
    if ('problems' in rules) throw refuseRules(rules.problems);
    const until = Math.min(now + graceMs, Date.parse(old.expiresAt ?? '') || Number.POSITIVE_INFINITY);
    const ending = graceMs === 0 ? { revokedAt: timeOf(now) } : { expiresAt: timeOf(until) };
    rotated = { tenant: old.name, oldUntil: graceMs === 0 ? undefined : timeOf(until) };
    return [
      { ...rules, ...identity, createdAt: timeOf(now) },
      { ...old, ...ending, replacedBy: newId },
    ];
  });
  if (rotated === undefined) throw new Error('no key was looked at');
  return { id: newId, plain, isSafe, ...rotated };
}

function newIdentity() {
  const plain = createKey();
  const id = `key_${randomBytes(12).toString('hex')}`;
  return { id, plain, identity: { id, hash: `sha256:${hashKey(plain)}`, last4: plain.slice(-4) } };
}

function findKey({ keys, unreadable }: StoredKeys, id: string, settings: Settings): StoredKey {
  const found = keys.find((key) => key.id === id);
  if (found) return found;
  const ofFile = /^file:(\d+)$/.exec(id)?.[1];
  if (ofFile !== undefined && settings.keys[Number(ofFile)] !== undefined) {
    throw new FatalError(
      `${id} is keys[${ofFile}] of ${settings.file ?? 'the settings file'}, which cannot be changed here: in the file, remove it, give it \`disabled: true\`, or add a second key under its name. Every api follows within seconds.`,
    );
  }
  if (unreadable.some((each) => each.id === id)) {
    throw new FatalError(`${id} cannot be read, so every api refuses it already: create a new key.`);
  }
  // Somebody may have given the key itself, which is not repeated.
  const named = /^(key_|file:)[\w]{0,60}$/.test(id) ? ` '${id}'` : ' of that id';
  throw new FatalError(`There is no key${named}: 'sluice keys list' shows the ids.`);
}

function refuseRotation(old: StoredKey, now: number): void {
  if (old.replacedBy !== undefined) {
    throw new FatalError(`${old.id} was rotated already: rotate its successor ${old.replacedBy}.`);
  }
  const state = stateOfKey(old, now);
  if (state !== 'active') {
    throw new FatalError(`${old.id} is ${state}, so there is nothing to rotate: create a new key.`);
  }
}

function rulesOf(key: StoredKey, settings: Settings): Record<string, unknown> {
  const { name, models, tiers, weight, limits, expiresAt } = key;
  const ofFile = settings.tenants.find((tenant) => tenant.name === name);
  const own = Object.entries(limits).filter(([limit]) => !Object.hasOwn(ofFile?.limits ?? {}, limit));
  return {
    name,
    models,
    tiers,
    ...(weight !== undefined && ofFile?.weight === undefined && { weight }),
    limits: Object.fromEntries(own),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
