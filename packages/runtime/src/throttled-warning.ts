import { loggedError, type Logger } from './logger.ts';

const periodMs = 10_000;

export interface ThrottledWarning {
  warn: (error: unknown) => void;
  /** Logs the recovery from what was warned of. Does nothing before the first warning. */
  restored: (message: string) => void;
}

/**
 * A warning about an error that repeats while something is away. The first one is logged, then at most one in ten
 * seconds, with the number of those suppressed. A recovery does not reset the interval, so a flapping connection cannot
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
