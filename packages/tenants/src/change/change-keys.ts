import { randomBytes } from 'node:crypto';
import { hashKey, type Settings } from '@sluice/config';
import { createKey } from '../keys/api-keys.ts';
import { developmentKeyId, revokedDevelopmentKey } from '../keys/development-key.ts';
import { stateOfKey, type StoredKey } from '../stored/stored-key.ts';
import type { KeyChanges, StoredKeys } from './key-changes.ts';
import { KeyRefusal } from './key-refusal.ts';
import { checkNewKey } from './new-key.ts';

/** Changes keys: the keys themselves, and the settings that they must not contradict. */
export interface KeyChanger {
  settings: Pick<Settings, 'keys' | 'tenants' | 'models' | 'providers' | 'file'>;
  change: KeyChanges['change'];
}

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

export interface RevokedKey {
  key: StoredKey;
  isSafe: boolean;
}

/** @throws {KeyRefusal} with every problem, when the key makes no sense or contradicts another one. */
export async function createStoredKey(
  { settings, change }: KeyChanger,
  wanted: Record<string, unknown>,
): Promise<IssuedKey> {
  const { id, plain, identity } = newIdentity();
  const isSafe = await change(({ keys, now }) => {
    if (keys.some((key) => key.id === id)) return [];
    const rules = checkNewKey({ wanted, settings, stored: keys, now });
    if ('problems' in rules) throw new KeyRefusal(id, { kind: 'rules', problems: rules.problems });
    return [{ ...rules, ...identity, createdAt: timeOf(now) }];
  });
  return { id, plain, isSafe };
}

/** Revokes a key. One that is revoked already stays as it is. The development key has the id `key_development`, or its name. */
export async function revokeStoredKey({ settings, change }: KeyChanger, id: string): Promise<RevokedKey> {
  let revoked: StoredKey | undefined;
  const isSafe = await change((stored) => {
    const at = timeOf(stored.now);
    const isDevelopment = id === 'development' || id === developmentKeyId;
    const known = isDevelopment
      ? stored.keys.find((key) => key.id === developmentKeyId)
      : findKey(stored, id, settings);
    revoked =
      known === undefined ? revokedDevelopmentKey(at) : { ...known, revokedAt: known.revokedAt ?? at };
    return known?.revokedAt === undefined ? [revoked] : [];
  });
  if (revoked === undefined) throw new Error('no key was looked at');
  return { key: revoked, isSafe };
}

/**
 * Makes a key with the rules of another one, which is taken for `graceMs` from now on, and no longer than it was before.
 * Rules of a tenant that the file describes stay in the file.
 */
export async function rotateStoredKey(
  { settings, change }: KeyChanger,
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
    if ('problems' in rules) throw new KeyRefusal(id, { kind: 'rules', problems: rules.problems });
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

function findKey(
  { keys, unreadable }: StoredKeys,
  id: string,
  { keys: ofFile, file }: KeyChanger['settings'],
): StoredKey {
  const found = keys.find((key) => key.id === id);
  if (found) return found;
  const at = Number(/^file:(\d{1,6})$/.exec(id)?.[1] ?? Number.NaN);
  if (ofFile[at] !== undefined) throw new KeyRefusal(id, { kind: 'of_file', at, file });
  if (unreadable.some((each) => each.id === id)) throw new KeyRefusal(id, { kind: 'unreadable' });
  throw new KeyRefusal(id, { kind: 'unknown' });
}

function refuseRotation({ id, replacedBy, ...old }: StoredKey, now: number): void {
  if (replacedBy !== undefined) throw new KeyRefusal(id, { kind: 'rotated', successor: replacedBy });
  const state = stateOfKey(old, now);
  if (state !== 'active') throw new KeyRefusal(id, { kind: 'inactive', state });
}

function rulesOf(key: StoredKey, settings: KeyChanger['settings']): Record<string, unknown> {
  const { name, models, tiers, weight, limits, budget, expiresAt } = key;
  const ofFile = settings.tenants.find((tenant) => tenant.name === name);
  const own = Object.entries(limits).filter(([limit]) => !Object.hasOwn(ofFile?.limits ?? {}, limit));
  return {
    name,
    models,
    tiers,
    ...(weight !== undefined && ofFile?.weight === undefined && { weight }),
    limits: Object.fromEntries(own),
    ...(budget && { budget }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
