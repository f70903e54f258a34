import { formatPath } from './config-error.ts';
import type { Explanation } from './explain-issue.ts';

/** A change of the stored models that was not made, because it makes no sense. Its problems have paths below `models[]` of the file. */
export class ModelRefusal extends Error {
  override readonly name = 'ModelRefusal';
  readonly kind: 'invalid' | 'of_file' | 'exists' | 'unknown' | 'shared';
  readonly problems: readonly Explanation[];

  constructor(kind: ModelRefusal['kind'], problems: readonly Explanation[]) {
    super(problems.map(({ path, message }) => `${formatPath(path)} ${message}`.trim()).join('; '));
    this.kind = kind;
    this.problems = problems;
  }
}
