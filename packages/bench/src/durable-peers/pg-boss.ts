import { installPackages } from '../installs.ts';
import type { DurablePeer } from './durable-peer.ts';
import { startOnPostgres } from './on-postgres.ts';

const version = '12.38.0';

/** Jobs in tables of Postgres, fetched in batches by workers that are notified. */
export const pgBoss: DurablePeer = {
  name: 'pg-boss',
  version,
  install: (folder, run) => installPackages(folder, run, { dependencies: { 'pg-boss': version } }),
  start: (surroundings) => startOnPostgres(pgBoss, surroundings),
};
