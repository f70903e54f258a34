import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from './logger.ts';

/** How late the event loop was, in milliseconds; 0 is on time. */
export interface EventLoopDelay {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

export interface EventLoopWatch {
  /** The delay since the last call, which starts a new period. */
  takeDelay(): EventLoopDelay;
  /**
   * How long the loop has stood still since the start, in milliseconds: the sum of the logged stalls, the longest of every
   * ten seconds. Reading it changes nothing, so a stall that ended before a scrape was answered is not missed.
   */
  readonly stalledMs: number;
  /** Ends the watch; twice is fine. */
  stop(): void;
}

export interface EventLoopWatchOptions {
  logger: Logger;
  /** A stall longer than this is logged; 200 ms by default, far below the shortest lock a job can have. */
  warnAboveMs?: number;
  /** How often a stall is logged at most; 10 s by default. */
  periodMs?: number;
}

/**
 * Watches how late timers fire. A blocked event loop renews no locks: a process that stalls for as long as a lock lasts
 * loses all of its jobs. The warning comes long before that, at most once in ten seconds.
 */
export function watchEventLoop({
  logger,
  warnAboveMs = 200,
  periodMs = ALARM_PERIOD_MS,
}: EventLoopWatchOptions): EventLoopWatch {
  // Two histograms: a scrape resets its own, and must not hide a stall from the warning.
  const forScrape = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const forAlarm = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  forScrape.enable();
  forAlarm.enable();
  let stalledInAllMs = 0;
  const look = () => {
    const stalledMs = delayMs(forAlarm.max);
    forAlarm.reset();
    if (stalledMs <= warnAboveMs) return;
    stalledInAllMs += stalledMs;
    logger.warn({ stalledMs: Math.round(stalledMs) }, 'event loop stalled');
  };
  let looking: NodeJS.Immediate | undefined;
  // After a stall both timers are late, and the histogram's may run behind this one: it is looked at once both have run.
  const alarm = setInterval(() => {
    looking = setImmediate(look);
  }, periodMs);
  return {
    get stalledMs() {
      return stalledInAllMs;
    },
    takeDelay() {
      const delay = {
        p50Ms: delayMs(forScrape.percentile(50)),
        p99Ms: delayMs(forScrape.percentile(99)),
        maxMs: delayMs(forScrape.max),
      };
      forScrape.reset();
      return delay;
    },
    stop() {
      clearInterval(alarm);
      clearImmediate(looking);
      forScrape.disable();
      forAlarm.disable();
    },
  };
}

const RESOLUTION_MS = 10;
const ALARM_PERIOD_MS = 10_000;

/** The histogram holds the time between two ticks of its timer, in nanoseconds, so an idle loop shows the resolution. */
function delayMs(nanoseconds: number): number {
  const milliseconds = nanoseconds / 1e6 - RESOLUTION_MS;
  // An empty histogram returns NaN or, for `max`, 0.
  return milliseconds > 0 ? milliseconds : 0;
}
