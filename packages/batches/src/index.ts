export { BatchRunner, type BatchRunnerOptions } from './batch-runner.ts';
export { type ParsedLine, parseLine, type RawLine, type ReadLine } from './batch-lines.ts';
export { BatchStore, type BatchStoreOptions } from './batch-store.ts';
export { Batches, type BatchesOptions } from './batches.ts';
export {
  type BatchOwner,
  type LineAnswer,
  LineLeft,
  type LineRequest,
  type LineRun,
  type LineServer,
} from './line-server.ts';
export type { BatchTokens } from './stored-batch.ts';
