import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalPostgres, startLocalPostgres } from '@sluice/testing';
import { type Child, ownProcess, startChild } from '../child-process.ts';
import { folderOf, installPackages, type RunInstall } from '../installs.ts';
import { type SpawnedProcess, spawnProcess, untilStarted } from '../spawned-process.ts';
import { acceptTarget, generateTarget } from '../targets.ts';
import type { DurablePeer, PeerSurroundings, RunningPeer } from './durable-peer.ts';
import { synchronousCommit, useSynchronousCommit } from './on-postgres.ts';
import { peerVariables } from './peer-place.ts';
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
  async start({ upstreamUrl, slots, directory }: PeerSurroundings): Promise<RunningPeer> {
    const folder = folderOf(temporal);
    const postgres = await startLocalPostgres();
    const children: { stop: () => Promise<void> }[] = [postgres];
    const stop = async () => {
      for (const child of children.toReversed()) await child.stop();
    };
    try {
      const server = await startServer({ folder, directory, postgres });
      children.push(server);
      const env = peerVariables({ folder, storeUrl: server.address, upstreamUrl, slots });
      const start = async (role: 'api' | 'worker') => {
        const child = await startChild({
          name: `temporal ${role}`,
          ...ownProcess(`./durable-peers/temporal/${role}`),
          env,
        });
        children.push(child);
        return child;
      };
      const api = await start('api'); // waits for the server, and makes the namespace
      const worker = await start('worker');
      const url = String(api.ready['url']);
      const whole = generateTarget(url);
      await untilStarted('the workflow of Temporal', server, async () => {
        const { origin, path, headers, body } = whole;
        const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
        return answer.ok || (await answer.text());
      });
      return {
        store: postgres.version,
        settings: synchronousCommit,
        use: (durability) => useSynchronousCommit(postgres, durability),
        whole,
        background: acceptTarget(url),
        processes: new Map<string, Pick<Child, 'pid'>>([
          ['api', api],
          ['worker', worker],
          ['server', server],
          ['store', postgres],
        ]),
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  },
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

async function startServer(place: {
  folder: string;
  directory: string;
  postgres: LocalPostgres;
}): Promise<SpawnedProcess & { address: string }> {
  const { folder, directory, postgres } = place;
  const bin = (name: string) => join(folder, 'bin', name);
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
