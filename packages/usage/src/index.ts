export { openSqlite, type OpenSqliteOptions, usageFile } from './sqlite/open-sqlite.ts';
export { openUsage, type UsagePlace } from './open-usage.ts';
export { openPostgres, type OpenPostgresOptions } from './postgres/open-postgres.ts';
export { recordEach } from './record-each.ts';
export {
  type Dimension,
  dimensions,
  hourOf,
  msPerHour,
  TooManySums,
  type UsageAnswer,
  type UsageDatabase,
  type UsageFact,
  type UsageQuery,
  type UsageSum,
} from './usage-database.ts';
export { UsageHome, type UsageHomeOptions } from './usage-home.ts';
export { askedCosts, type AskedPage, askedPage, costPage, pageUntil, usagePage } from './usage-page.ts';
