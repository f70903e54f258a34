import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@sluice/testing';
import { type Child, ownProcess, startChild } from '../child-process.ts';
import { folderOf, installPackages } from '../installs.ts';
import { type SpawnedProcess, spawnProcess, untilStarted } from '../spawned-process.ts';
import { generateTarget } from '../targets.ts';
import type { DurablePeer, PeerSurroundings, RunningPeer } from './durable-peer.ts';
import { peerVariables } from './peer-place.ts';
import { untilAnswered } from './until-answered.ts';

const version = '1.7.12';
const sdkVersion = '1.17.2';

/** Where the server is, of the packages that hold it for one platform each. */
const server = `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;

/**
 * Restate's server, which is api and store in one, and a worker that it calls. Callers speak to the server itself, as its documentation
 * has it.
 */
export const restate: DurablePeer = {
  name: 'restate',
  version,
  install: (folder, run) =>
    installPackages(folder, run, {
      dependencies: { '@restatedev/restate-server': version, '@restatedev/restate-sdk': sdkVersion },
    }),
  async start({ upstreamUrl, slots, directory }: PeerSurroundings): Promise<RunningPeer> {
    const folder = folderOf(restate);
    const worker = await startChild({
      name: 'restate worker',
      ...ownProcess('./durable-peers/restate/worker'),
      env: peerVariables({ folder, storeUrl: '', upstreamUrl, slots }),
    });
    const ports = { node: await freePort(), admin: await freePort(), ingress: await freePort() };
    let child: SpawnedProcess | undefined;
    const stop = async () => {
      await child?.stop();
      await worker.stop();
    };
    try {
      child = spawnProcess({
        file: join(folder, server),
        args: ['--base-dir', await mkdtemp(join(directory, 'restate-')), '--no-logo'],
        cwd: directory,
        env: {
          RESTATE_LISTEN_MODE: 'tcp',
          RESTATE_BIND_ADDRESS: `127.0.0.1:${ports.node}`,
          RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${ports.admin}`,
          RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ports.ingress}`,
          RESTATE_DISABLE_TELEMETRY: 'true',
          RESTATE_LOG_FILTER: 'warn',
        },
      });
      await untilStarted('Restate', child, () => register(ports.admin, String(worker.ready['url'])));
      const whole = {
        ...generateTarget(`http://127.0.0.1:${ports.ingress}`),
        path: '/bench/generate',
      };
      await untilAnswered('the service of Restate', child, whole);
      return {
        store: `Restate ${version}`,
        settings: new Map([['at once', 'its default']]),
        use: () => Promise.resolve(),
        whole,
        background: { ...whole, path: `${whole.path}/send`, mark: '"status":"Accepted"', status: 202 },
        processes: new Map<string, Pick<Child, 'pid'>>([
          ['worker', worker],
          ['store', child],
        ]),
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  },
};

/** Tells the server where the worker is. */
async function register(adminPort: number, uri: string): Promise<true | string> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri, force: true }),
  });
  return answer.ok || (await answer.text());
}
