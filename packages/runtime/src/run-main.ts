import { asFatalError } from './fatal-error.ts';
import { printFatal } from './print-fatal.ts';

/**
 * Runs the body of a command. An error that the operator can mend (one with an `exitCode`) is printed without a stack
 * and becomes the exit code; anything else is a defect and crashes as one.
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
