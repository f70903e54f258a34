import { ApiError } from '../../api/api-error.ts';
import { NotUnlockedError } from '../../api/request.ts';
import { describeError } from '../../components/states.tsx';
import { fieldOfParam, type KeyField } from './key-form.ts';

/** The text of a refusal of rules, and its field; undefined while there is none. */
export function problemOf(error: unknown): { text: string; field: KeyField | undefined } | undefined {
  if (error === null || error instanceof NotUnlockedError) return undefined;
  const field = error instanceof ApiError ? fieldOfParam(error.param) : undefined;
  return { text: describeError(error).title, field };
}
