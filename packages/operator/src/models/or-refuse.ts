import { formatPath, StoredRefusal } from '@sluice/config';
import { ServiceError } from '@sluice/contract';

/** Waits for a change of stored models or providers, and turns its refusal into an error that names the member. */
export async function orRefuse<Result>(step: Promise<Result>): Promise<Result> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof StoredRefusal)) throw error;
    const [first] = error.problems;
    const text = error.problems.map(({ path, message }) => `'${formatPath(path)}' ${message}`).join('; ');
    const sentence = /[.?!]$/.test(text) ? text : `${text}.`;
    throw new ServiceError(error.kind === 'unknown' ? 'not_found' : 'invalid_value', sentence, {
      param: first && first.path.length > 0 ? formatPath(first.path) : 'id',
    });
  }
}
