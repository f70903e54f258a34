import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LocalPostgres } from '@sluice/testing';
import { folderOf, installPackages, type RunInstall } from '../installs.ts';
import { spawnProcess } from '../spawned-process.ts';
import type { DurablePeer } from './durable-peer.ts';
import { type PeerServer, startOnPostgres } from './on-postgres.ts';
import { lowPorts } from './temporal/low-ports.ts';
import { serverConfig } from './temporal/server-config.ts';

const version = '1.32.1';
const sdkVersion = '1.24.0';

/** The database of workflows, and that of their list, with the schemas that the tool of the release has for them. */
const databases = [
  ['temporal', 'postgresql/v12/temporal'],
  ['temporal_visibility', 'postgresql/v12/visibility'],
] as const;

/**
 * Temporal's server, built from its sources, on a Postgres of its own. An api starts a workflow for each request and waits for its
 * result, and the workflow has one activity, the call of the upstream.
 */
export const temporal: DurablePeer = {
  name: 'temporal',
  version,
  install,
  start: (surroundings) =>
    startOnPostgres(temporal, surroundings, (postgres) => startServer(postgres, surroundings.directory)),
};

/** Needs Go for the server, of which there is no other package for every platform. */
async function install(folder: string, run: RunInstall): Promise<void> {
  const sdk = ['client', 'worker', 'workflow'].map((part) => [`@temporalio/${part}`, sdkVersion]);
  await installPackages(folder, run, { dependencies: Object.fromEntries(sdk) as Record<string, string> });
  await mkdir(join(folder, 'bin'));
  const module = 'go.temporal.io/server/cmd';
  await run({
    file: 'go',
    args: ['install', `${module}/server@v${version}`, `${module}/tools/sql@v${version}`],
    env: { GOBIN: join(folder, 'bin'), GOFLAGS: '-buildvcs=false' },
  });
  await writeFile(join(folder, 'workflow.cjs'), workflow);
}

/** Bundled by the worker at its start, from the folder where its imports are. */
const workflow = `
const { proxyActivities } = require('@temporalio/workflow');
const { generate } = proxyActivities({ startToCloseTimeout: '1 minute' });
exports.answer = (prompt) => generate(prompt);
`;

async function startServer(postgres: LocalPostgres, directory: string): Promise<PeerServer> {
  const bin = (name: string) => join(folderOf(temporal), 'bin', name);
  const toPostgres = `--plugin postgres12 --ep 127.0.0.1 --port ${postgres.port} --user postgres`.split(' ');
  for (const [database, schema] of databases) {
    const tool = (...args: string[]) =>
      promisify(execFile)(bin('sql'), [...toPostgres, '--database', database, ...args]);
    await tool('create-database');
    await tool('setup-schema', '--version', '0.0');
    await tool('update-schema', '--schema-name', schema);
  }
  const { text, address } = serverConfig(postgres.port, await lowPorts(8));
  const root = await mkdtemp(join(directory, 'temporal-'));
  const file = join(root, 'temporal.yaml');
  await writeFile(file, text);
  const server = spawnProcess({
    file: bin('server'),
    args: ['--config-file', file, '--allow-no-auth', 'start'],
    cwd: root,
  });
  return { ...server, address };
}
