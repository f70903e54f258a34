import { createHash } from 'node:crypto';
import { formatPath } from './config-error.ts';
import type { ExpandedData } from './expand-variables.ts';
import { nodeAt, type SchemaNode, settingsTree, valueAt } from './schema-node.ts';

type Fault = ExpandedData['faults'][number];

/** Secrets for which nothing can stand in. The checks do not miss them. */
const addresses = new Set(['redisUrl', 'usage.databaseUrl']);

/**
 * Replaces secrets in the data whose variables are not set, for a caller that uses none but those at `needed` paths. An address is
 * taken out, and any other secret has a stand-in that passes the checks.
 *
 * @returns the faults that remain.
 */
export function spareSecrets(data: unknown, faults: readonly Fault[], needed: readonly string[]): Fault[] {
  if (!faults.some(({ isUnset }) => isUnset)) return [...faults];
  const tree = settingsTree();
  return faults.filter(({ path, isUnset }) => {
    const name = formatPath(path);
    const key = path.at(-1);
    const owner = valueAt(path.slice(0, -1), data);
    if (!isUnset || needed.includes(name) || !isSecret(tree, path, data)) return true;
    if (key === undefined || typeof owner !== 'object' || owner === null) return true;
    if (addresses.has(name)) Reflect.deleteProperty(owner, key);
    else Reflect.set(owner, key, standIn(String(Reflect.get(owner, key))));
    return false;
  });
}

/** Whether a setting is secret by itself or with all that is below one of its parents. */
function isSecret(tree: SchemaNode, path: readonly PropertyKey[], data: unknown): boolean {
  return path.some((_, at) => nodeAt(tree, path.slice(0, at + 1), data)?.secret);
}

/** Has the form of a hash of a key, which passes for a secret of any kind. Different texts have different ones, as keys must be. */
function standIn(text: string): string {
  return `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}
