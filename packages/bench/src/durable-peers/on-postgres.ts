import { type LocalPostgres, startLocalPostgres } from '@sluice/testing';
import { type Child, ownProcess, startChild } from '../child-process.ts';
import { folderOf, type Installable } from '../installs.ts';
import type { SpawnedProcess } from '../spawned-process.ts';
import { acceptTarget, generateTarget } from '../targets.ts';
import type { Durability, PeerSurroundings, RunningPeer } from './durable-peer.ts';
import { peerVariables } from './peer-place.ts';
import { untilAnswered } from './until-answered.ts';

const synchronousCommit: ReadonlyMap<Durability, string> = new Map([
  ['soon', 'synchronous_commit off'],
  ['at once', 'synchronous_commit on'],
]);

/** A program between the processes of a peer and its Postgres. */
export interface PeerServer extends SpawnedProcess {
  /** Where its clients find it. */
  address: string;
}

/**
 * Starts the api and the worker in the folder of a peer's name, on a Postgres of their own, and before them its server, if it has
 * one.
 */
export async function startOnPostgres(
  peer: Installable,
  { upstreamUrl, slots }: PeerSurroundings,
  startServer?: (postgres: LocalPostgres) => Promise<PeerServer>,
): Promise<RunningPeer> {
  const postgres = await startLocalPostgres();
  const children: Child[] = [];
  let server: PeerServer | undefined;
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop()));
    await server?.stop();
    await postgres.stop();
  };
  try {
    server = await startServer?.(postgres);
    const storeUrl = server?.address ?? postgres.url;
    const env = peerVariables({ folder: folderOf(peer), storeUrl, upstreamUrl, slots });
    const start = async (role: 'api' | 'worker') => {
      const child = await startChild({
        name: `${peer.name} ${role}`,
        ...ownProcess(`./durable-peers/${peer.name}/${role}`),
        env,
      });
      children.push(child);
      return child;
    };
    const api = await start('api'); // makes the tables, or waits for the server
    const worker = await start('worker');
    const url = String(api.ready['url']);
    const whole = generateTarget(url);
    if (server) await untilAnswered(peer.name, server, whole);
    return {
      store: postgres.version,
      settings: synchronousCommit,
      use: (durability) => postgres.set('synchronous_commit', durability === 'at once' ? 'on' : 'off'),
      whole,
      background: acceptTarget(url),
      processes: new Map<string, Pick<Child, 'pid'>>([
        ['api', api],
        ['worker', worker],
        ...(server ? [['server', server] as const] : []),
        ['store', postgres],
      ]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
