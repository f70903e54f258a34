import { loggedError, type Logger } from './logger.ts';

const periodMs = 10_000;

/**
 * A warning about errors that come in numbers while something is away: the first is logged, and then one line in ten
 * seconds that says how many were left out.
 */
export function throttledWarning(
  logger: Logger,
  message: string,
  now: () => number = () => performance.now(),
): (error: unknown) => void {
  let loggedAt: number | undefined;
  let suppressed = 0;
  return (error) => {
    const at = now();
    if (loggedAt !== undefined && at - loggedAt < periodMs) {
      suppressed += 1;
      return;
    }
    logger.warn({ err: loggedError(error), suppressed }, message);
    loggedAt = at;
    suppressed = 0;
  };
}
