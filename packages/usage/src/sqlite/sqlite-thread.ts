import { parentPort, workerData } from 'node:worker_threads';
import type { UsageFact, UsageQuery, UsageSum } from '../usage-database.ts';
import { SqliteFile } from './sqlite-file.ts';

/** The data with which the thread is started. */
export interface SqliteThreadData {
  path: string;
}

export type SqliteTask =
  | { kind: 'id' }
  | { kind: 'record'; facts: readonly UsageFact[] }
  | { kind: 'sums'; query: UsageQuery };

export type SqliteResult =
  | { kind: 'id'; id: string }
  | { kind: 'recorded' }
  | { kind: 'sums'; sums: UsageSum[] }
  | { kind: 'failed'; message: string };

const { path } = workerData as SqliteThreadData; // as `openSqlite` gives it
let file: SqliteFile | undefined;

parentPort?.on('message', (task: SqliteTask) => parentPort?.postMessage(done(task)));

function done(task: SqliteTask): SqliteResult {
  try {
    // A file that could not be opened is tried again with each task.
    file ??= new SqliteFile(path);
    if (task.kind === 'id') return { kind: 'id', id: file.id };
    if (task.kind === 'sums') return { kind: 'sums', sums: file.sums(task.query) };
    file.record(task.facts);
    return { kind: 'recorded' };
  } catch (error) {
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
