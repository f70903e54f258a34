import { asFatalError } from './fatal-error.ts';
import { printFatal } from './print-fatal.ts';

/**
 * Runs the body of a command. An error with an `exitCode`, which the operator can fix, is printed without a stack and
 * sets the exit code. Any other error is a defect and crashes the process.
 */
export async function runMain(body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    const fatal = asFatalError(error);
    if (!fatal) throw error;
    printFatal(fatal);
    process.exitCode = fatal.exitCode;
  }
}
