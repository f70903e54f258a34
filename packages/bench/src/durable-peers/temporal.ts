import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Child, ownProcess, startChild } from '../child-process.ts';
import { folderOf, installPackages } from '../installs.ts';
import { type SpawnedProcess, spawnProcess, untilStarted } from '../spawned-process.ts';
import { acceptTarget, generateTarget } from '../targets.ts';
import type { DurablePeer, PeerSurroundings, RunningPeer } from './durable-peer.ts';
import { peerVariables } from './peer-place.ts';
import { type Postgres, startPostgres, synchronousCommit } from './postgres.ts';

/** The last release that Go 1.26.8 builds. */
const version = '1.31.2';
const sdkVersion = '1.24.0';

/** A workflow of one step. It is bundled once, as it is for production. */
const workflow = `
import { proxyActivities } from '@temporalio/workflow';
const { callModel } = proxyActivities({ startToCloseTimeout: '1 minute' });
export async function generate(prompt) {
  return { output_text: await callModel(prompt) };
}
`;

const bundling = `
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bundleWorkflowCode } from '@temporalio/worker';
const { code } = await bundleWorkflowCode({ workflowsPath: join(process.cwd(), 'workflow.js') });
await writeFile('workflow-bundle.js', code);
`;

/**
 * Temporal's server with its tables in Postgres, and an api and a worker that speak to it. The server is built from its module, because its
 * development server is a binary that has to be downloaded.
 */
export const temporal: DurablePeer = {
  name: 'temporal',
  version,
  async install(folder, run) {
    const packages = ['client', 'worker', 'workflow', 'activity'];
    await installPackages(folder, run, {
      dependencies: Object.fromEntries(packages.map((name) => [`@temporalio/${name}`, sdkVersion])),
    });
    await writeFile(join(folder, 'workflow.js'), workflow);
    await run({ file: process.execPath, args: ['--input-type=module', '--eval', bundling] });
    const commands = ['server', 'tools/sql'].map((name) => `go.temporal.io/server/cmd/${name}@v${version}`);
    await run({ file: 'go', args: ['install', ...commands], env: { GOBIN: folder } });
  },
  async start({ upstreamUrl, slots, directory }: PeerSurroundings): Promise<RunningPeer> {
    const folder = folderOf(temporal);
    const postgres = await startPostgres();
    let server: SpawnedProcess | undefined;
    const children: Child[] = [];
    const stop = async () => {
      await Promise.all(children.map((child) => child.stop()));
      await server?.stop();
      await postgres.stop();
    };
    try {
      const databases = { temporal: 'temporal', visibility: 'temporal_visibility' };
      for (const [schema, database] of Object.entries(databases)) {
        await makeTables(folder, postgres, schema, database);
      }
      const frontend = await lowPort();
      const file = join(await mkdtemp(join(directory, 'temporal-')), 'server.yaml');
      await writeFile(file, JSON.stringify(await settings(postgres, databases, frontend))); // YAML reads JSON
      server = spawnProcess({
        file: join(folder, 'server'),
        args: ['--config-file', file, '--allow-no-auth', 'start'],
        cwd: directory,
      });
      const env = peerVariables({ folder, storeUrl: `127.0.0.1:${frontend}`, upstreamUrl, slots });
      const start = (role: 'api' | 'worker') =>
        startChild({ name: `temporal ${role}`, ...ownProcess(`./durable-peers/temporal/${role}`), env });
      // The api makes the namespace, and the server takes some seconds until all of it knows that.
      await untilStarted('Temporal', server, async () => {
        children.push(await start('api'));
        return true;
      });
      children.push(await start('worker'));
      const [api, worker] = children;
      if (!api || !worker) throw new Error('Temporal has no api and no worker'); // both are there by now
      const url = String(api.ready['url']);
      const whole = generateTarget(url);
      await untilStarted('a workflow of Temporal', server, async () => {
        const { origin, path, headers, body } = whole;
        const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
        return answer.ok || (await answer.text());
      });
      return {
        store: postgres.version,
        settings: synchronousCommit,
        use: (durability) => postgres.use(durability),
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

async function makeTables(
  folder: string,
  { port }: Postgres,
  schema: string,
  database: string,
): Promise<void> {
  const place = ['--plugin', 'postgres12', '--ep', '127.0.0.1', '-p', String(port), '-u', 'postgres'];
  const steps = [
    ['create'],
    ['setup-schema', '-v', '0.0'],
    ['update-schema', '--schema-name', `postgresql/v12/${schema}`],
  ];
  for (const step of steps) {
    await promisify(execFile)(join(folder, 'sql'), [...place, '--db', database, ...step]);
  }
}

/** Those of its development with Postgres, on the loopback interface and on free ports. */
async function settings(
  { port }: Postgres,
  databases: { temporal: string; visibility: string },
  frontend: number,
): Promise<object> {
  const storeOf = (databaseName: string, maxConns: number) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `127.0.0.1:${port}`,
      connectProtocol: 'tcp',
      user: 'postgres',
      maxConns,
      maxIdleConns: maxConns,
      maxConnLifetime: '1h',
    },
  });
  const service = async (grpcPort: number) => ({
    rpc: { grpcPort, membershipPort: await lowPort(), bindOnLocalHost: true },
  });
  return {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: storeOf(databases.temporal, 20), visibility: storeOf(databases.visibility, 2) },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services: {
      frontend: await service(frontend),
      matching: await service(await lowPort()),
      history: await service(await lowPort()),
      worker: await service(await lowPort()),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${frontend}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
  };
}

/** A free port below 32,768: the server keeps its ports in a column of 16 bits with a sign, so it does not start on the usual ones. */
async function lowPort(): Promise<number> {
  const server = createServer();
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening');
      server.close();
      await once(server, 'close');
      return port;
    } catch {
      // Somebody listens there.
    }
  }
}
