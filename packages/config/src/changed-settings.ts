import { formatPath } from './config-error.ts';
import type { KeySettings, Settings } from './settings.ts';

/** The limits of the service that may change while it runs. Only an api uses them; workers read the others when they start. */
export const liveLimits = [
  'queued',
  'queuedBytes',
  'redisMemoryPercent',
  'bodyBytes',
  'bodyBytesInFlight',
] as const satisfies (keyof Settings['limits'])[];

export type LiveLimits = Pick<Settings['limits'], (typeof liveLimits)[number]>;

/** How many keys differ between two versions of the settings. */
export interface ChangedKeys {
  added: number;
  revoked: number;
  /** The same key, with other rules. */
  changed: number;
}

/** Compares keys by their hash, so a rotated key counts as one added and one revoked. */
export function changedKeys(before: readonly KeySettings[], after: readonly KeySettings[]): ChangedKeys {
  const known = new Map(before.map((key) => [key.hash, key]));
  const result: ChangedKeys = { added: 0, revoked: 0, changed: 0 };
  for (const key of after) {
    const old = known.get(key.hash);
    known.delete(key.hash);
    if (old === undefined) result.added += 1;
    else if (JSON.stringify(old) !== JSON.stringify(key)) result.changed += 1;
  }
  result.revoked = known.size;
  return result;
}

/** Whether the limits of the service that take effect while a process runs are the same. */
export function haveSameLimits(before: Settings, after: Settings): boolean {
  return liveLimits.every((name) => before.limits[name] === after.limits[name]);
}

/**
 * Whether the keys of the file give their tenants the same settings. A default that is written out changes no key, and yet
 * contradicts a stored key with another value.
 */
export function haveSameTenants(before: Settings, after: Settings): boolean {
  return JSON.stringify(before.tenants) === JSON.stringify(after.tenants);
}

/**
 * The paths of settings that differ and take effect only when the process starts again, in the order of the file. A list
 * that has become longer or shorter is named as a whole. Values are left out, because some are secrets.
 */
export function changesForRestart(before: Settings, after: Settings): string[] {
  return differences(staticPart(before), staticPart(after), []).map(formatPath);
}

function staticPart({ keys: _keys, tenants: _tenants, limits, file: _file, ...rest }: Settings): object {
  const fixed = Object.entries(limits).filter(([name]) => !liveLimits.some((live) => live === name));
  return { ...rest, limits: Object.fromEntries(fixed) };
}

function differences(before: unknown, after: unknown, path: PropertyKey[]): PropertyKey[][] {
  if (Object.is(before, after)) return [];
  if (!isCompound(before) || !isCompound(after)) return [path];
  if (Array.isArray(before) && Array.isArray(after)) {
    if (before.length !== after.length) return [path];
    return before.flatMap((item, index) => differences(item, after[index], [...path, index]));
  }
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(Reflect.get(before, name), Reflect.get(after, name), [...path, name]),
  );
}

function isCompound(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
