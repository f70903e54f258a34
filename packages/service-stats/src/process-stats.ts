import { randomUUID } from 'node:crypto';
import { type Logger, type RedisClock, type Telemetry, throttledWarning } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { ProcessAnnouncer } from './process-registry.ts';
import { StatsRecorder } from './stats-recorder.ts';

export interface ProcessStatsOptions {
  /** Whether anything is written at all. */
  isOn: boolean;
  /** Short commands that nobody waits for, and that fail instead of waiting. */
  connection: Redis;
  /** Starts every key of the cell. */
  keyPrefix: string;
  telemetry: Telemetry;
  /** Ids of the models of the service. */
  models: readonly string[];
  clock: Pick<RedisClock, 'now' | 'isSynchronized'>;
  /** What this process says of itself now: plain data. */
  report: () => object;
  /** What is told of it for a day when it falls silent: few members of the report. */
  will: () => object;
  logger: Logger;
}

/** The part of a process in what the console shows of the service: what it has counted, and that it runs. */
export interface ProcessStats {
  start(): void;
  /** Says now what has changed, for a process that begins to stop. Does not wait for Redis. */
  announce(): void;
  /** Adds what is left and signs off, if Redis answers. Twice, or before `start`, is fine. */
  stop(): Promise<void>;
}

/** The part of a process that counts, and is not announced; undefined when nothing is to be written. */
export function recorderOf(options: Omit<ProcessStatsOptions, 'report' | 'will'>): StatsRecorder | undefined {
  return options.isOn ? new StatsRecorder(partsOf(options)) : undefined;
}

/** Nothing is written and nothing is listened to when it is off. */
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
    // Every process has another one, wherever it runs.
    processId: randomUUID(),
    now: () => (clock.isSynchronized ? clock.now() : undefined),
    onError: throttledWarning(logger, 'statistics not written').warn,
  };
}
