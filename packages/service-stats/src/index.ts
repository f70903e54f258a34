export {
  type AnnouncedProcess,
  ProcessAnnouncer,
  type ProcessAnnouncerOptions,
  type RegistryOptions,
  readLostProcesses,
  readProcesses,
} from './process-registry.ts';
export { type ProcessStats, type ProcessStatsOptions, recorderOf, statsOf } from './process-stats.ts';
export { StatsRecorder, type StatsRecorderOptions } from './stats-recorder.ts';
export { type Figures, noFigures } from './figures.ts';
export { HistoryReader, type HistoryReading } from './history-reader.ts';
export { type HistorySpan } from './history-spans.ts';
export { StatsReader, type StatsReaderOptions, type StatsReading } from './stats-reader.ts';
export type { Counter } from './sums.ts';
