import { installPackages } from '../installs.ts';
import type { DurablePeer } from './durable-peer.ts';
import { startOnPostgres } from './on-postgres.ts';

const version = '0.18.0';

/** Jobs in a table of Postgres, from which a job is removed when it is done. So the task keeps the answer in a table of its own. */
export const graphileWorker: DurablePeer = {
  name: 'graphile-worker',
  version,
  install: (folder, run) => installPackages(folder, run, { dependencies: { 'graphile-worker': version } }),
  start: (surroundings) => startOnPostgres(graphileWorker, surroundings),
};
