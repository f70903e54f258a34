import { checkKey, gatherTenants, type KeyRules, type Settings, type TenantSettings } from '@sluice/config';
import { uniteKeys } from '../keys/unite-keys.ts';
import type { StoredKey } from '../stored/stored-key.ts';
import type { RuleProblem } from './key-refusal.ts';

export interface NewKey {
  /** In the shape of `keys[]` in the file, unchecked. */
  wanted: Record<string, unknown>;
  settings: Pick<Settings, 'keys' | 'tenants' | 'models' | 'providers'>;
  stored: readonly StoredKey[];
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Checks a key that is to be stored: by the schema of the file, and against the file and every key that is stored.
 *
 * The rules that come back also have what other stored keys alone say of the tenant. When one of those is revoked, the
 * limits of the tenant still hold for the new key.
 *
 * @returns the rules to store, or every problem with its path below `keys[]`.
 */
export function checkNewKey({
  wanted,
  settings,
  stored,
  now,
}: NewKey): KeyRules | { problems: readonly RuleProblem[] } {
  const rules = checkKey(wanted);
  if ('problems' in rules) return rules;
  const candidate: StoredKey = { ...rules, id: '', hash: '', last4: '', createdAt: '' };
  const problems: RuleProblem[] = uniteKeys({ settings, stored: [...stored, candidate] })
    .conflicts.filter(({ id }) => id === candidate.id)
    .map(({ path, message }) => ({ path, message }));
  if (rules.expiresAt !== undefined && Date.parse(rules.expiresAt) <= now) {
    problems.push({ path: ['expiresAt'], message: 'is over; give a later one' });
  }
  if (problems.length > 0) return { problems };
  const live = stored.filter(({ name, revokedAt }) => name === rules.name && revokedAt === undefined);
  // An older key wins over a newer one, as it does when keys are united.
  const said = gatherTenants(live.toReversed()).get(rules.name);
  const ofFile = settings.tenants.find(({ name }) => name === rules.name);
  return said === undefined ? rules : { ...rules, ...withSaid(rules, said, ofFile) };
}

/** What a key says of its tenant, and what other stored keys say where the file does not. */
function withSaid(
  { weight, limits }: KeyRules,
  said: TenantSettings,
  ofFile: TenantSettings | undefined,
): Pick<KeyRules, 'weight' | 'limits'> {
  const left = Object.entries(said.limits).filter(([limit]) => !Object.hasOwn(ofFile?.limits ?? {}, limit));
  const weightToSay = weight ?? (ofFile?.weight === undefined ? said.weight : undefined);
  return {
    ...(weightToSay !== undefined && { weight: weightToSay }),
    limits: { ...Object.fromEntries(left), ...limits },
  };
}
