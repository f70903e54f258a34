import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import type pg from 'pg';
import {
  hourOf,
  rememberedHours,
  type UsageDatabase,
  type UsageFact,
  type UsageSum,
} from '../usage-database.ts';
import {
  addToSums,
  counted,
  createTables,
  forgetTold,
  insertId,
  olderTable,
  rowsOf,
  selectId,
  selectSums,
  takeOlder,
} from '../usage-tables.ts';
import { wholeBuckets } from '../whole-buckets.ts';

export interface OpenPostgresOptions {
  /** Such as `postgres://user:password@host:5432/database`. */
  url: string;
  onError: (error: unknown) => void;
  /** How long one statement may take, in milliseconds; half a minute by default. */
  withinMs?: number;
}

/** Two apis that start at once would otherwise create the same table. */
const tablesLock = 7_381_001;

/** A process has one writer, and a few questions at a time. */
const mostConnections = 4;

/** For the error of a connection in use: its query, or the next one, rejects as well, and the pool listens to idle connections alone. */
const ignore = (): void => undefined;

/** Usage in a database of Postgres, for apis on several machines. Connected when it is first used, and again after each loss. */
export function openPostgres({ url, onError, withinMs = 30_000 }: OpenPostgresOptions): UsageDatabase {
  let pool: Promise<pg.Pool> | undefined;
  let ready: Promise<string> | undefined;
  let forgottenHour = 0;

  // Most services have no Postgres, and need not load its client. An `import` that failed, as without a descriptor, fails again ever after.
  const open = async () => {
    const requireInstalled = createRequire(import.meta.url);
    const { Pool } = requireInstalled('pg') as typeof pg;
    const made = new Pool({
      connectionString: url,
      max: mostConnections,
      connectionTimeoutMillis: 5_000,
      query_timeout: withinMs,
      statement_timeout: withinMs,
      application_name: 'sluice',
    });
    return made.on('error', onError); // A connection that nobody uses was lost.
  };
  const opened = () =>
    (pool ??= open().catch((error: unknown) => {
      pool = undefined; // the next use tries again
      throw error;
    }));
  const inTransaction = async <Result>(change: (client: pg.PoolClient) => Promise<Result>) =>
    transaction(await opened(), change);
  const create = () =>
    inTransaction(async (client) => {
      await client.query(`SELECT pg_advisory_xact_lock(${tablesLock})`);
      for (const sql of createTables) await client.query(sql);
      const { rows: older } = await client.query<{ found: string | null }>(
        'SELECT to_regclass($1) AS found',
        [olderTable],
      );
      if (older[0]?.found) for (const sql of takeOlder) await client.query(sql);
      await client.query(insertId, [randomUUID()]);
      const { rows } = await client.query<{ value: string }>(selectId);
      return String(rows[0]?.value);
    });
  const id = async () => {
    ready ??= create();
    try {
      return await ready;
    } catch (error) {
      ready = undefined;
      throw error;
    }
  };
  return {
    id,
    async record(facts) {
      await id();
      const hour = Math.max(0, ...facts.map(({ endedAt }) => hourOf(endedAt)));
      await inTransaction(async (client) => {
        for (const row of rowsOf(await newAmong(client, facts))) await client.query(addToSums, row);
        if (hour <= forgottenHour) return;
        await client.query(forgetTold, [hour - rememberedHours]);
      });
      forgottenHour = Math.max(forgottenHour, hour);
    },
    async sums(query) {
      await id();
      const { sql, values } = selectSums(query);
      const { rows } = await (await opened()).query<Record<string, string | null>>(sql, values);
      return wholeBuckets(rows.map(sumOf), query);
    },
    async close() {
      await (await pool)?.end();
    },
  };
}

async function transaction<Result>(
  pool: pg.Pool,
  change: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  client.on('error', ignore);
  let failure: unknown;
  try {
    await client.query('BEGIN');
    const result = await change(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    client.off('error', ignore);
    // The server rolls back what a connection leaves that is thrown away.
    client.release(failure !== undefined);
  }
}

/** Notes the ids of facts, and returns those that nobody had noted. */
async function newAmong(client: pg.PoolClient, facts: readonly UsageFact[]): Promise<UsageFact[]> {
  const byId = new Map(facts.map((fact) => [fact.id, fact]));
  const { rows } = await client.query<{ id: string }>(
    'INSERT INTO usage_told (id, hour) SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT (id) DO NOTHING RETURNING id',
    [[...byId.keys()], [...byId.values()].map(({ endedAt }) => hourOf(endedAt))],
  );
  return rows.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Sums arrive as text, because they may be longer than a number is exact. */
function sumOf(row: Record<string, string | null>): UsageSum {
  const numbers = ['hour', ...counted].map((name) => [name, Number(row[name])]);
  return { ...row, ...Object.fromEntries(numbers) };
}
