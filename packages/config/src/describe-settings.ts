import { stringify } from 'yaml';
import { childNode, type SchemaNode, settingsTree } from './schema-node.ts';
import type { Settings } from './settings.ts';

/**
 * The settings in effect, as YAML in the shape of the file. Whatever the schema marks as a secret reads
 * `(set)`; of the Redis address, the user and password are left out.
 */
export function describeSettings(settings: Settings): string {
  const { file, ...rest } = settings;
  const shown = redact(rest, settingsTree());
  const head = file === undefined ? '# no file' : `# ${file}`;
  return `${head}\n${stringify(withRedisAddress(shown, settings.redisUrl), { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

function redact(value: unknown, node: SchemaNode | undefined): unknown {
  // What the schema does not know is not shown: it cannot say whether it is a secret.
  if (node === undefined || node.secret === true) return value === undefined ? undefined : '(set)';
  if (Array.isArray(value)) return value.map((item, index) => redact(item, childNode(node, index, value)));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, redact(item, childNode(node, key, value))]),
  );
}

function withRedisAddress(shown: unknown, redisUrl: string | undefined): unknown {
  if (redisUrl === undefined || typeof shown !== 'object' || shown === null) return shown;
  const { protocol, host, pathname } = new URL(redisUrl);
  return { ...shown, redisUrl: `${protocol}//${host}${pathname}` };
}
