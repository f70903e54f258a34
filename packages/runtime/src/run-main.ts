import { FatalError } from './fatal-error.ts';
import { printFatal } from './lifecycle.ts';

/**
 * Runs the body of a command. An error that the operator can mend (one with an `exitCode`) is printed as one line
 * without a stack and becomes the exit code; anything else is a defect and crashes as one.
 */
export async function runMain(body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    const exitCode = exitCodeOf(error);
    if (exitCode === undefined || !(error instanceof Error)) throw error;
    printFatal(error instanceof FatalError ? error : new FatalError(error.message, { exitCode }));
    process.exitCode = exitCode;
  }
}

function exitCodeOf(error: unknown): 1 | 2 | undefined {
  if (typeof error !== 'object' || error === null || !('exitCode' in error)) return undefined;
  return error.exitCode === 1 || error.exitCode === 2 ? error.exitCode : undefined;
}
