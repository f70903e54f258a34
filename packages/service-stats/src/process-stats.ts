import { randomUUID } from 'node:crypto';
import { type Logger, type RedisClock, type Telemetry, throttledWarning } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { ProcessAnnouncer } from './process-registry.ts';
import { StatsRecorder } from './stats-recorder.ts';

export interface ProcessStatsOptions {
  /** Whether anything is written at all. */
  isOn: boolean;
  /** For short commands, which fail at once while Redis is away. */
  connection: Redis;
  /** Starts every key of the cell. */
  keyPrefix: string;
  telemetry: Telemetry;
  /** Whether the service has a model of this id. */
  hasModel: (id: string) => boolean;
  clock: Pick<RedisClock, 'now' | 'isSynchronized'>;
  /** Makes the report of this process: plain data. */
  report: () => object;
  /** Makes its will, which is shown for a day if it falls silent: few members of the report. */
  will: () => object;
  logger: Logger;
}

/** Counts for the console, and reports this process to it. */
export interface ProcessStats {
  start(): void;
  /** Reports now, for a process that begins to stop. Does not wait for Redis. */
  announce(): void;
  /** Adds the remaining counts and signs off, if Redis answers. Safe to call twice, or before `start`. */
  stop(): Promise<void>;
}

/** Starts counting for a process that does not report; undefined when nothing is to be written. */
export function recorderOf(options: Omit<ProcessStatsOptions, 'report' | 'will'>): StatsRecorder | undefined {
  return options.isOn ? new StatsRecorder(partsOf(options)) : undefined;
}

/** When it is off, it listens to nothing and writes nothing. */
export function statsOf({ report, will, ...options }: ProcessStatsOptions): ProcessStats {
  if (!options.isOn) {
    return { start: () => undefined, announce: () => undefined, stop: () => Promise.resolve() };
  }
  const parts = partsOf(options);
  const recorder = new StatsRecorder(parts);
  const announcer = new ProcessAnnouncer({ ...parts, report, will });
  return {
    start() {
      recorder.start();
      announcer.start();
    },
    announce: () => void announcer.announce(),
    async stop() {
      await Promise.all([recorder.stop(), announcer.stop()]);
    },
  };
}

function partsOf({ clock, logger, ...options }: Omit<ProcessStatsOptions, 'report' | 'will'>) {
  return {
    ...options,
    // Unique to the process.
    processId: randomUUID(),
    now: () => (clock.isSynchronized ? clock.now() : undefined),
    onError: throttledWarning(logger, 'statistics not written').warn,
  };
}
