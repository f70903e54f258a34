import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ThreadPool } from '@sluice/admission';
import { startThread } from '@sluice/runtime';
import { TooManySums, type UsageDatabase } from '../usage-database.ts';
import type { SqliteResult, SqliteTask, SqliteThreadData } from './sqlite-thread.ts';

export interface OpenSqliteOptions {
  /** The file, which is created with its folder if it is not there. */
  path: string;
  onError: (error: unknown) => void;
  /** How long one call may take, in milliseconds; half a minute by default. */
  withinMs?: number;
}

/** Where the apis of a data folder keep usage. */
export const usageFile = (dataDir: string): string => join(dataDir, 'usage.sqlite');

/** Takes turns with the tenants that ask. */
const writer = '';

/** Heap of a thread, in mebibytes. */
const heapMib = 128;

/**
 * Usage in a file of SQLite, which threads read and write: one that is slow, or a disk that is, holds up no request. Several processes
 * of a machine may have the same file. Opened when it is first used.
 */
export function openSqlite({ path, onError, withinMs = 30_000 }: OpenSqliteOptions): UsageDatabase {
  const workerData: SqliteThreadData = { path };
  const pool = new ThreadPool<SqliteTask, SqliteResult>({
    start: (resourceLimits) =>
      startThread(new URL('./sqlite-thread.ts', import.meta.url), {
        name: 'usage',
        workerData,
        resourceLimits,
      }),
    heapMib: () => heapMib,
    withinMs,
    onError,
  });
  const run = async <Kind extends SqliteResult['kind']>(
    asker: string,
    task: SqliteTask,
    expected: Kind,
  ): Promise<Extract<SqliteResult, { kind: Kind }>> => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const end = await pool.run(asker, task);
    if (end.kind !== 'done') throw new Error(`the database of usage did not answer (${end.kind})`);
    if (end.result.kind === 'failed') throw new Error(`${path}: ${end.result.message}`);
    if (end.result.kind === 'too_many') throw new TooManySums(end.result.most);
    if (end.result.kind !== expected) throw new TypeError(`The thread answered '${end.result.kind}'`);
    return end.result as Extract<SqliteResult, { kind: Kind }>; // which was looked at
  };
  return {
    id: async () => (await run(writer, { kind: 'id' }, 'id')).id,
    record: async (facts) => void (await run(writer, { kind: 'record', facts }, 'recorded')),
    sums: async (query, asker) => (await run(asker, { kind: 'sums', query }, 'sums')).answer,
    close: () => pool.stop(),
  };
}
