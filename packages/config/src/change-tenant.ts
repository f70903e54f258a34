import type { Explanation } from './explain-issue.ts';
import { limitsSchema } from './key-schema.ts';
import { checkNewKey } from './new-key.ts';
import type { Settings } from './settings.ts';
import type { StoredKey } from './stored-key.ts';

export interface TenantChange {
  name: string;
  /** In the shape of `keys[]` in the file, unchecked, like the limits. Null takes away what was said. */
  weight?: unknown;
  limits: Readonly<Record<string, unknown>>;
}

/**
 * Checks what all stored keys of a tenant are to say of it: by the schema of the file, and that the file leaves it to
 * them.
 *
 * @returns what makes a key say so, or every problem with its path below `keys[]`.
 */
export function changeOfTenant(
  { name, weight, limits }: TenantChange,
  settings: Pick<Settings, 'keys' | 'tenants' | 'models'>,
): { apply: (key: StoredKey) => StoredKey } | { problems: Explanation[] } {
  const kept = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
  const wanted = { name, ...(weight !== undefined && weight !== null && { weight }), limits: kept };
  const checked = checkNewKey({ wanted, settings: { ...settings, tenants: [] }, stored: [], now: 0 });
  const ofFile = settings.tenants.find((tenant) => tenant.name === name);
  const problems = 'problems' in checked ? checked.problems : [];
  const refuse = (path: PropertyKey[], message: string) => problems.push({ path, message });
  for (const limit of Object.keys(limits)) {
    if (!Object.hasOwn(limitsSchema.shape, limit)) {
      if (limits[limit] === null) refuse(['limits', limit], 'is not a limit of a tenant');
    } else if (Object.hasOwn(ofFile?.limits ?? {}, limit)) refuse(['limits', limit], saidByFile);
  }
  if (weight !== undefined && ofFile?.weight !== undefined) refuse(['weight'], saidByFile);
  if (problems.length > 0 || 'problems' in checked) return { problems };
  return {
    apply(key) {
      const said = Object.entries({ ...key.limits, ...checked.limits });
      const left = said.filter(([limit]) => limits[limit] !== null);
      const changed = { ...key, limits: limitsSchema.parse(Object.fromEntries(left)) };
      if (checked.weight !== undefined) changed.weight = checked.weight;
      else if (weight === null) delete changed.weight;
      return changed;
    },
  };
}

const saidByFile = 'is said by the settings file; change it there';
