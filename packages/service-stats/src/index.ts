export {
  type AnnouncedProcess,
  ProcessAnnouncer,
  type ProcessAnnouncerOptions,
  readLostProcesses,
  readProcesses,
} from './process-registry.ts';
export { type ProcessStats, type ProcessStatsOptions, recorderOf, statsOf } from './process-stats.ts';
export { StatsRecorder, type StatsRecorderOptions } from './stats-recorder.ts';
export { type Figures, StatsReader, type StatsReaderOptions, type StatsReading } from './stats-reader.ts';
export type { Counter } from './sums.ts';
