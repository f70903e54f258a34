import type { z } from 'zod';
import { type Explanation, explainIssue } from './explain-issue.ts';
import { keySchema } from './key-schema.ts';
import { settingsTree } from './schema-node.ts';

/** The rules of a key, checked: an entry of `keys[]` in the file without the key itself. */
export type KeyRules = Omit<z.output<typeof keySchema>, 'key' | 'hash' | 'disabled'>;

/**
 * Checks a key in the shape of `keys[]` in the file by its schema.
 *
 * @returns its rules, or every problem with its path below `keys[]`.
 */
export function checkKey(wanted: Record<string, unknown>): KeyRules | { problems: Explanation[] } {
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
  return { ...rest, ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }) };
}

/** One mistake can break several rules of the schema; reporting the first is enough. */
export function firstOfEachPath(problems: readonly Explanation[]): Explanation[] {
  const first = new Map(problems.toReversed().map((problem) => [JSON.stringify(problem.path), problem]));
  return problems.filter((problem) => first.get(JSON.stringify(problem.path)) === problem);
}
