import { formatPath } from './config-error.ts';
import type { Explanation } from './explain-issue.ts';

/**
 * A change of stored models or providers that was not made, because it makes no sense. Its problems have paths below `models[]` or
 * `providers[]` of the file. A command that it ends says so in one line, as with a `FatalError`.
 */
export class StoredRefusal extends Error {
  override readonly name = 'StoredRefusal';
  readonly exitCode = 1;
  readonly kind: 'invalid' | 'of_file' | 'exists' | 'unknown' | 'shared' | 'in_use';
  readonly problems: readonly Explanation[];

  constructor(kind: StoredRefusal['kind'], problems: readonly Explanation[]) {
    super(problems.map(({ path, message }) => `${formatPath(path)} ${message}`.trim()).join('; '));
    this.kind = kind;
    this.problems = problems;
  }
}
