import { z } from 'zod';
import { firstOfEachPath } from './check-key.ts';
import { type Explanation, explainIssue } from './explain-issue.ts';
import { checkDiscovery, checkPressure } from './provider-checks.ts';
import { type StoredProvider, storedProviderSchema } from './provider-schema.ts';
import type { SchemaNode } from './schema-node.ts';
import { checkServers } from './server-checks.ts';
import { completeProvider, type ProviderSettings } from './settings.ts';
import type { UpstreamKeys } from './upstream-keys.ts';

/** A checked provider: its members as they were given, and the provider as the service works with it. */
export interface CheckedProvider {
  members: StoredProvider;
  settings: ProviderSettings;
}

/**
 * Checks a provider that an operator stores: by the schema of `providers[]` in the file, without members that are secret, and by the
 * rules between its members.
 *
 * @param keys what this process has of the keys that stored providers name. The provider is valid also without its key.
 * @returns the provider, or every problem with its path below `providers[]`.
 */
export function checkProvider(
  wanted: unknown,
  keys: UpstreamKeys = {},
): CheckedProvider | { problems: Explanation[] } {
  const parsed = storedProviderSchema.safeParse(wanted);
  if (parsed.error !== undefined) {
    // The cast holds for the same reason as in `settingsTree`.
    const tree = z.toJSONSchema(storedProviderSchema, { io: 'input' }) as SchemaNode;
    const problems = parsed.error.issues.flatMap((issue) => explainIssue(issue, wanted, tree));
    return { problems: firstOfEachPath(problems.map(explainAbsence)) };
  }
  const members = wanted as StoredProvider; // It has just satisfied the schema.
  const problems = checkMembers(members);
  if (problems.length > 0) return { problems };
  const settings = completeProvider(parsed.data);
  if (!('apiKeyVariable' in settings)) return { members, settings };
  const apiKey = keys[settings.apiKeyVariable ?? ''];
  return { members, settings: { ...settings, ...(apiKey !== undefined && { apiKey }) } };
}

function checkMembers(members: StoredProvider): Explanation[] {
  if (members.type === 'simulator') return [];
  const providers = [members];
  return [
    ...checkServers(members, 0),
    ...checkPressure({ providers }),
    // Its models may come later.
    ...checkDiscovery({ providers, models: [{}] }),
  ].map(({ path, message }) => ({ path: path.slice(2), message }));
}

/** Says why a member of the file's providers is not one of a stored provider. */
function explainAbsence({ path, message }: Explanation): Explanation {
  switch (path.join('.')) {
    case 'apiKey':
    case 'headers':
      return {
        path,
        message:
          'is kept in no store; name a variable of the workers in `apiKeyVariable`, or put the provider in the settings file',
      };
    case 'type':
      return { path, message: `${message}; others belong in the settings file` };
    default:
      return { path, message };
  }
}

/** The variable with the key of a provider that this process lacks; undefined where nothing is missing. */
export function missingVariable(provider: ProviderSettings): string | undefined {
  if (!('apiKeyVariable' in provider) || provider.apiKey !== undefined) return undefined;
  return provider.apiKeyVariable;
}
