import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import {
  hourOf,
  rememberedHours,
  type UsageFact,
  type UsageQuery,
  type UsageSum,
} from '../usage-database.ts';
import {
  addToSums,
  createTables,
  forgetTold,
  insertId,
  olderTable,
  rowsOf,
  selectId,
  selectSums,
  takeOlder,
} from '../usage-tables.ts';

/** The version of the tables. A file of a newer one is refused. */
const tablesVersion = 1;

/** How long a call waits for another process that writes, in milliseconds. */
const busyMs = 10_000;

/** A file of SQLite that has usage. Its calls hold their thread until they are done. */
export class SqliteFile {
  readonly #database: DatabaseSync;
  readonly #id: string;
  #forgottenHour = 0;

  /** Creates the file if there is none. `path` may be `:memory:`. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: busyMs });
    // Other processes read while one writes, and what was recorded is on the disk before the outbox forgets it.
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    const version = Number(this.#database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
    if (version > tablesVersion) {
      this.#database.close();
      throw new Error(`${path} was written by a newer release (its tables are of version ${version})`);
    }
    this.#id = this.#atOnce(() => {
      for (const sql of createTables) this.#database.exec(sql);
      this.#takeOlder();
      this.#database.exec(`PRAGMA user_version = ${tablesVersion}`);
      this.#database.prepare(insertId).run(named([randomUUID()]));
      return String(this.#database.prepare(selectId).get()?.['value']);
    });
  }

  get id(): string {
    return this.#id;
  }

  record(facts: readonly UsageFact[]): void {
    this.#atOnce(() => {
      const tell = this.#database.prepare(
        'INSERT INTO usage_told (id, hour) VALUES (?, ?) ON CONFLICT (id) DO NOTHING',
      );
      const news = facts.filter(({ id, endedAt }) => Number(tell.run(id, hourOf(endedAt)).changes) === 1);
      const add = this.#database.prepare(addToSums);
      for (const row of rowsOf(news)) add.run(named(row));
      this.#forget(Math.max(0, ...facts.map(({ endedAt }) => hourOf(endedAt))));
    });
  }

  /** The rows for `wholeBuckets`. */
  sums(query: UsageQuery): UsageSum[] {
    const { sql, values } = selectSums(query);
    // Columns are those that the statement names.
    return this.#database.prepare(sql).all(named(values)) as unknown as UsageSum[];
  }

  close(): void {
    this.#database.close();
  }

  #takeOlder(): void {
    const known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
    if (this.#database.prepare(known).get(olderTable)) for (const sql of takeOlder) this.#database.exec(sql);
  }

  /** Once an hour: the ids of facts that cannot come again. */
  #forget(hour: number): void {
    if (hour <= this.#forgottenHour) return;
    this.#forgottenHour = hour;
    this.#database.prepare(forgetTold).run(named([hour - rememberedHours]));
  }

  #atOnce<Result>(change: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = change();
      this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}

/** SQLite numbers `$1` by its name. */
function named(values: readonly (string | number)[]): Record<string, string | number> {
  return Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value]));
}
