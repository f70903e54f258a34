import {
  dimensions,
  hourOf,
  mostSums,
  tokenKinds,
  type UsageFact,
  type UsageQuery,
} from './usage-database.ts';

const outcomes = ['completed', 'failed', 'incomplete', 'cancelled'] as const satisfies UsageFact['outcome'][];

/** The sums, by their names in `UsageSum` and their columns. */
export const counted = ['responses', ...outcomes, ...tokenKinds, 'slotMs', 'spend'] as const;

const columnOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const columnsOfSums = [
  'hour BIGINT NOT NULL',
  ...dimensions.map((name) => `${name} TEXT NOT NULL`),
  ...counted.map((name) => `${columnOf(name)} BIGINT NOT NULL DEFAULT 0`),
  `PRIMARY KEY (hour, ${dimensions.join(', ')})`,
];

/**
 * Makes the tables, in any database that speaks SQL: what the database is, the ids of the facts that were counted, and a row of sums for
 * each hour and group. Columns are members of `UsageSum` in snake case.
 */
export const createTables = [
  'CREATE TABLE IF NOT EXISTS usage_about (name TEXT PRIMARY KEY, value TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS usage_told (id TEXT PRIMARY KEY, hour BIGINT NOT NULL)',
  'CREATE INDEX IF NOT EXISTS usage_told_by_hour ON usage_told (hour)',
  `CREATE TABLE IF NOT EXISTS usage_hours (${columnsOfSums.join(', ')})`,
];

/** The sums of an older release, which had no money and no labels. A process of that release records nothing any more, and its ends wait. */
export const olderTable = 'usage_sums';
const olderColumns = [
  'hour',
  'tenant',
  'key',
  'model',
  'tier',
  'responses',
  ...outcomes,
  ...tokenKinds,
  'slotMs',
].map(columnOf);

/** Takes the sums of the older table over, and the table away. */
export const takeOlder = [
  `INSERT INTO usage_hours (${olderColumns.join(', ')}, label) SELECT ${olderColumns.join(', ')}, '' FROM ${olderTable}`,
  `DROP TABLE ${olderTable}`,
];

/** Names the database, if it has no name, by the value that is given. */
export const insertId =
  "INSERT INTO usage_about (name, value) VALUES ('id', $1) ON CONFLICT (name) DO NOTHING";
export const selectId = "SELECT value FROM usage_about WHERE name = 'id'";

/** Forgets the facts of the hours before the one that is given. */
export const forgetTold = 'DELETE FROM usage_told WHERE hour < $1';

const columns = ['hour', ...dimensions, ...counted.map(columnOf)];

/** Adds the values of a row to those that stand there. */
export const addToSums = `INSERT INTO usage_hours (${columns.join(', ')}) VALUES (${columns
  .map((_, at) => `$${at + 1}`)
  .join(', ')}) ON CONFLICT (hour, ${dimensions.join(', ')}) DO UPDATE SET ${counted
  .map(columnOf)
  .map((column) => `${column} = usage_hours.${column} + excluded.${column}`)
  .join(', ')}`;

/** A text of a caller may have a NUL, which Postgres takes in no text. */
const storable = (value: string | number): string | number =>
  typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value;

/** The values of `addToSums` for what facts took together: one row for each hour and group. */
export function rowsOf(facts: readonly UsageFact[]): (string | number)[][] {
  const rows = new Map<string, (string | number)[]>();
  for (const fact of facts) {
    const group = [hourOf(fact.endedAt), ...dimensions.map((name) => storable(fact[name]))];
    const values = counted.map((name) => valueOf(fact, name));
    const id = JSON.stringify(group);
    const row = rows.get(id);
    if (!row) rows.set(id, [...group, ...values]);
    else
      for (const [at, value] of values.entries())
        row[group.length + at] = Number(row[group.length + at]) + value;
  }
  return [...rows.values()];
}

function valueOf(fact: UsageFact, name: (typeof counted)[number]): number {
  switch (name) {
    case 'responses':
      return 1;
    case 'completed':
    case 'failed':
    case 'incomplete':
    case 'cancelled':
      return fact.outcome === name ? 1 : 0;
    case 'slotMs':
      return fact.startedAt === undefined ? 0 : Math.max(0, Math.round(fact.endedAt - fact.startedAt));
    case 'spend':
      return fact.spend ?? 0;
    default:
      return fact.tokens[name] ?? 0;
  }
}

/** The query of `UsageDatabase.sums`, whose columns are the members of a `UsageSum`. One row more than fits says that there is more. */
export function selectSums(query: UsageQuery): { sql: string; values: (string | number)[] } {
  const values: (string | number)[] = [];
  const value = (given: string | number) => `$${values.push(storable(given))}`;
  // SQLite takes a value that is given for a number with a fraction.
  const each = Math.max(1, Math.trunc(query.hoursEach));
  const bucket = `hour / ${each} * ${each}`;
  const conditions = [`hour >= ${value(query.from)}`, `hour < ${value(query.until)}`];
  for (const name of dimensions) {
    const wanted = query.where?.[name];
    if (wanted) conditions.push(wanted.length > 0 ? `${name} IN (${wanted.map(value).join(', ')})` : '1 = 0');
  }
  if (query.isBatch !== undefined) conditions.push(`tier ${query.isBatch ? '=' : '<>'} 'batch'`);
  const selected = [
    `${bucket} AS hour`,
    ...dimensions.map((name) => (query.groupBy.includes(name) ? name : `NULL AS ${name}`)),
    // Sums of money may be longer than a number is exact.
    ...counted.map((name) => `CAST(SUM(${columnOf(name)}) AS DOUBLE PRECISION) AS "${name}"`),
  ];
  const groups = [bucket, ...dimensions.filter((name) => query.groupBy.includes(name))];
  const sql = `SELECT ${selected.join(', ')} FROM usage_hours WHERE ${conditions.join(' AND ')} GROUP BY ${groups.join(', ')} ORDER BY ${groups.join(', ')} LIMIT ${(query.most ?? mostSums) + 1}`;
  return { sql, values };
}
