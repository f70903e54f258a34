import { loggedError } from './logged-error.ts';
import type { Logger } from './logger.ts';

const periodMs = 10_000;

/** Lets one line in ten seconds through, and counts those that it holds back. */
export class LineThrottle {
  readonly #now: () => number;
  #passedAt: number | undefined;
  #suppressed = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get hasPassed(): boolean {
    return this.#passedAt !== undefined;
  }

  /** How many lines were held back since the last one, if another may pass now; undefined when it may not. */
  pass(): number | undefined {
    const at = this.#now();
    if (this.#passedAt !== undefined && at - this.#passedAt < periodMs) {
      this.#suppressed += 1;
      return undefined;
    }
    this.#passedAt = at;
    return this.takeSuppressed();
  }

  /** How many lines were held back since the last one. They are forgotten. */
  takeSuppressed(): number {
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}

export interface ThrottledWarning {
  warn: (error: unknown) => void;
  /** Logs the recovery. Does nothing before the first warning. */
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
  const throttle = new LineThrottle(now);
  return {
    warn(error) {
      const suppressed = throttle.pass();
      if (suppressed !== undefined) logger.warn({ err: loggedError(error), suppressed }, message);
    },
    restored(restoredMessage) {
      if (throttle.hasPassed) logger.info({ suppressed: throttle.takeSuppressed() }, restoredMessage);
    },
  };
}
