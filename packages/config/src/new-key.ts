import { type Explanation, explainIssue } from './explain-issue.ts';
import { keySchema, limitsSchema } from './key-schema.ts';
import { nodeAt, settingsTree } from './schema-node.ts';
import { gatherTenants, type Settings, type TenantSettings } from './settings.ts';
import type { KeyRules, StoredKey } from './stored-key.ts';
import { uniteKeys } from './unite-keys.ts';

export interface NewKey {
  /** In the shape of `keys[]` in the file, unchecked. */
  wanted: Record<string, unknown>;
  settings: Pick<Settings, 'keys' | 'tenants' | 'models'>;
  stored: readonly StoredKey[];
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Checks a key that is to be stored: by the schema of the file, and against the file and every key that is stored.
 *
 * The rules that come back say of their tenant also what other stored keys alone say of it. When one of those is
 * revoked, the limits of the tenant then hold for the new key still.
 *
 * @returns the rules to store, or every problem with its path below `keys[]`.
 */
export function checkNewKey({
  wanted,
  settings,
  stored,
  now,
}: NewKey): KeyRules | { problems: Explanation[] } {
  const parsed = keySchema.safeParse(wanted);
  if (parsed.error !== undefined) {
    const tree = settingsTree();
    const data = { keys: [wanted] };
    const problems = parsed.error.issues
      .flatMap((issue) => explainIssue({ ...issue, path: ['keys', 0, ...issue.path] }, data, tree))
      .map(({ path, message }) => ({ path: path.slice(2), message }));
    return { problems: firstOfEachPath(problems) };
  }
  const { key: _key, hash: _hash, disabled: _disabled, expiresAt, ...rest } = parsed.data;
  const rules: KeyRules = {
    ...rest,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
  const candidate: StoredKey = { ...rules, id: '', hash: '', last4: '', createdAt: '' };
  const problems: Explanation[] = uniteKeys({ settings, stored: [...stored, candidate] })
    .conflicts.filter(({ id }) => id === candidate.id)
    .map(({ path, message }) => ({ path, message }));
  if (rules.expiresAt !== undefined && Date.parse(rules.expiresAt) <= now) {
    problems.push({ path: ['expiresAt'], message: 'is over; give a later one' });
  }
  if (problems.length > 0) return { problems };
  const live = stored.filter(({ name, revokedAt }) => name === rules.name && revokedAt === undefined);
  // Of what they say, older ones win, as they do when keys are united.
  const said = gatherTenants(live.toReversed()).get(rules.name);
  const ofFile = settings.tenants.find(({ name }) => name === rules.name);
  return said === undefined ? rules : { ...rules, ...withSaid(rules, said, ofFile) };
}

/** The limits of a tenant that a key may say, in the order of the schema, with their descriptions. */
export function describeKeyLimits(): { name: string; description: string }[] {
  const tree = settingsTree();
  return Object.keys(limitsSchema.shape).map((name) => ({
    name,
    description: nodeAt(tree, ['keys', 0, 'limits', name], undefined)?.description ?? '',
  }));
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

/** One mistake can break several rules of the schema; reporting the first is enough. */
function firstOfEachPath(problems: readonly Explanation[]): Explanation[] {
  const first = new Map(problems.toReversed().map((problem) => [JSON.stringify(problem.path), problem]));
  return problems.filter((problem) => first.get(JSON.stringify(problem.path)) === problem);
}
