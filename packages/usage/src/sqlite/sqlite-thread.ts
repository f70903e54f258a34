import { parentPort, workerData } from 'node:worker_threads';
import { TooManySums, type UsageAnswer, type UsageFact, type UsageQuery } from '../usage-database.ts';
import { wholeBuckets } from '../whole-buckets.ts';
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
  | { kind: 'sums'; answer: UsageAnswer }
  | { kind: 'too_many'; most: number }
  | { kind: 'failed'; message: string };

const { path } = workerData as SqliteThreadData; // as `openSqlite` gives it
let file: SqliteFile | undefined;

parentPort?.on('message', (task: SqliteTask) => parentPort?.postMessage(done(task)));

function done(task: SqliteTask): SqliteResult {
  try {
    // A file that could not be opened is tried again with each task.
    file ??= new SqliteFile(path);
    if (task.kind === 'id') return { kind: 'id', id: file.id };
    if (task.kind === 'sums')
      return { kind: 'sums', answer: wholeBuckets(file.sums(task.query), task.query) };
    file.record(task.facts);
    return { kind: 'recorded' };
  } catch (error) {
    if (error instanceof TooManySums) return { kind: 'too_many', most: error.most };
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
