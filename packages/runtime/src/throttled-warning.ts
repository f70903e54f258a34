import { loggedError, type Logger } from './logger.ts';

const periodMs = 10_000;

export interface ThrottledWarning {
  warn: (error: unknown) => void;
  /** Says that what was warned of is over, each time; nothing before the first warning. */
  restored: (message: string) => void;
}

/**
 * A warning about errors that come in numbers while something is away: the first is logged, and then one line in ten
 * seconds that says how many were left out. The period is kept over a recovery, so that what comes and goes cannot
 * fill the log.
 */
export function throttledWarning(
  logger: Logger,
  message: string,
  now: () => number = () => performance.now(),
): ThrottledWarning {
  let loggedAt: number | undefined;
  let suppressed = 0;
  return {
    warn(error) {
      const at = now();
      if (loggedAt !== undefined && at - loggedAt < periodMs) {
        suppressed += 1;
        return;
      }
      logger.warn({ err: loggedError(error), suppressed }, message);
      loggedAt = at;
      suppressed = 0;
    },
    restored(restoredMessage) {
      if (loggedAt === undefined) return;
      logger.info({ suppressed }, restoredMessage);
      suppressed = 0;
    },
  };
}
