/** The code of an error of the file system, such as `ENOENT`. */
export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code; // as Node.js names it

/** Turns the absence of a file into undefined, and throws any other error. */
export function orNone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}
