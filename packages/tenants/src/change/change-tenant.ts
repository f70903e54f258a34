import { checkKey, limitsSchema } from '@sluice/config';
import { limitNames } from '@sluice/contract/tenant-limits';
import { type StoredKey, storedKeyText } from '../stored/stored-key.ts';
import type { KeyChanger } from './change-keys.ts';
import { KeyRefusal, type RuleProblem } from './key-refusal.ts';

export interface TenantChange {
  name: string;
  /** In the shape of `keys[]` in the file, unchecked, like the limits. Null takes away what was said. */
  weight?: unknown;
  limits: Readonly<Record<string, unknown>>;
}

export interface TenantChanged {
  /** How many keys were changed; 0 when all of them said so before. */
  keys: number;
  /** Whether they are stored as safely as the settings ask for. */
  isSafe: boolean;
}

/**
 * Changes the weight and the limits of a tenant in all of its stored keys, in one step. Expired keys are changed too,
 * because they still say what they said of their tenant.
 *
 * @throws {KeyRefusal} with every problem when the change makes no sense or is the file's to make, or when the tenant has
 *   no stored key.
 */
export async function changeTenant(
  { settings, change }: KeyChanger,
  wanted: TenantChange,
): Promise<TenantChanged> {
  const { name } = wanted;
  const checked = check(wanted, settings);
  let changed = 0;
  const isSafe = await change(({ keys }) => {
    const live = keys.filter((key) => key.name === name && key.revokedAt === undefined);
    if (live.length === 0) {
      const isInFile = settings.keys.some((key) => key.name === name);
      throw new KeyRefusal(name, { kind: 'no_keys', isInFile, file: settings.file });
    }
    if ('problems' in checked) throw new KeyRefusal(name, { kind: 'rules', problems: checked.problems });
    const after = live.map((key) => checked.apply(key));
    const different = after.filter((key, at) => storedKeyText(key) !== storedKeyText(live[at] ?? key));
    changed = different.length;
    return different;
  });
  return { keys: changed, isSafe };
}

/** Checks a change by the schema of the file, and that the file leaves to stored keys what it changes. */
function check(
  { name, weight, limits }: TenantChange,
  { tenants }: KeyChanger['settings'],
): { apply: (key: StoredKey) => StoredKey } | { problems: readonly RuleProblem[] } {
  const kept = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));
  const rules = checkKey({ name, ...(weight !== undefined && weight !== null && { weight }), limits: kept });
  const ofFile = tenants.find((tenant) => tenant.name === name);
  const problems: RuleProblem[] = 'problems' in rules ? [...rules.problems] : [];
  const refuse = (path: PropertyKey[], message: string) => problems.push({ path, message });
  for (const [limit, value] of Object.entries(limits)) {
    if (!limitNames.some((known) => known === limit)) {
      if (value === null) refuse(['limits', limit], 'is not a limit of a tenant');
    } else if (Object.hasOwn(ofFile?.limits ?? {}, limit)) refuse(['limits', limit], saidByFile);
  }
  if (weight !== undefined && ofFile?.weight !== undefined) refuse(['weight'], saidByFile);
  if (problems.length > 0 || 'problems' in rules) return { problems };
  return {
    apply(key) {
      const said = Object.entries({ ...key.limits, ...rules.limits });
      const left = said.filter(([limit]) => limits[limit] !== null);
      const changed = { ...key, limits: limitsSchema.parse(Object.fromEntries(left)) };
      if (rules.weight !== undefined) changed.weight = rules.weight;
      else if (weight === null) delete changed.weight;
      return changed;
    },
  };
}

const saidByFile = 'is said by the settings file; change it there';
