import { openPostgres } from './postgres/open-postgres.ts';
import { openSqlite, usageFile } from './sqlite/open-sqlite.ts';
import type { UsageDatabase } from './usage-database.ts';

/** Where a service keeps its usage, by its settings. */
export interface UsagePlace {
  usage: { databaseUrl?: string };
  dataDir: string;
}

/** `onError` is told of what no call rejects with. */
export function openUsage(
  { usage: { databaseUrl }, dataDir }: UsagePlace,
  onError: (error: unknown) => void,
): UsageDatabase {
  return databaseUrl === undefined
    ? openSqlite({ path: usageFile(dataDir), onError })
    : openPostgres({ url: databaseUrl, onError });
}
