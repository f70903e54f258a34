import { formatPath } from './config-error.ts';
import type { KeySettings, Settings } from './settings.ts';

/** The limits of the service that may change while it runs. Only an api uses them; every process reads the others when it starts. */
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
  const { added, removed, changed } = compared(before, after, ({ hash }) => hash);
  return { added: added.length, revoked: removed.length, changed: changed.length };
}

/** The models and providers that differ between two versions of the settings, by their ids. */
export interface ChangedModels {
  added: string[];
  removed: string[];
  /** The same id, with other settings. */
  changed: string[];
  /** Providers that were added, removed or changed. */
  providers: string[];
}

export function changedModels(
  before: Pick<Settings, 'models' | 'providers'>,
  after: Pick<Settings, 'models' | 'providers'>,
): ChangedModels {
  const idOf = ({ id }: { id: string }) => id;
  const { added, removed, changed } = compared(before.models, after.models, idOf);
  const providers = compared(before.providers, after.providers, idOf);
  return {
    added,
    removed,
    changed,
    providers: [...providers.added, ...providers.removed, ...providers.changed],
  };
}

export function hasChangedModels({ added, removed, changed, providers }: ChangedModels): boolean {
  return added.length + removed.length + changed.length + providers.length > 0;
}

/** The names of the entries that only one of two lists has, and of those that differ. No name stands twice in a list. */
function compared<Entry>(
  before: readonly Entry[],
  after: readonly Entry[],
  nameOf: (entry: Entry) => string,
) {
  const removed = new Map(before.map((entry) => [nameOf(entry), JSON.stringify(entry)]));
  const added: string[] = [];
  const changed: string[] = [];
  for (const entry of after) {
    const name = nameOf(entry);
    const old = removed.get(name);
    removed.delete(name);
    if (old === undefined) added.push(name);
    else if (old !== JSON.stringify(entry)) changed.push(name);
  }
  return { added, removed: [...removed.keys()], changed };
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

function staticPart({
  keys: _keys,
  tenants: _tenants,
  models: _models,
  providers: _providers,
  file: _file,
  isFileBlank: _isFileBlank,
  limits,
  ...rest
}: Settings): object {
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
