import type { RunFailure } from './messages.ts';

/** A run that cannot go on, for a reason that its caller may know. */
export class RunError extends Error {
  readonly failure: RunFailure;

  constructor(failure: RunFailure) {
    super(failure.what);
    this.name = 'RunError';
    this.failure = failure;
  }
}

/** The request is at fault. `problem` is part of a sentence for the client. */
export function invalid(param: string, problem: string): RunError {
  return new RunError({
    code: 'invalid_prompt',
    disposition: 'fail',
    what: `cannot take the request: ${problem}`,
    param,
    publicMessage: `The model cannot take '${param}': ${problem}.`,
  });
}

/** Maps an error of a run for its caller. The library's own words are left out, because they can quote a prompt. */
export function failureOf(error: unknown): RunFailure {
  if (error instanceof RunError) return error.failure;
  const name = error instanceof Error ? error.name : typeof error;
  return { code: 'upstream_error', disposition: 'retry', fault: 'broken', what: `failed with a ${name}` };
}
