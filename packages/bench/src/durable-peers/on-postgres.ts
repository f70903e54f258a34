import { type LocalPostgres, startLocalPostgres } from '@sluice/testing';
import { type Child, ownProcess, startChild } from '../child-process.ts';
import { folderOf, type Installable } from '../installs.ts';
import { acceptTarget, generateTarget } from '../targets.ts';
import type { Durability, PeerSurroundings, RunningPeer } from './durable-peer.ts';
import { peerVariables } from './peer-place.ts';

export const synchronousCommit: ReadonlyMap<Durability, string> = new Map([
  ['soon', 'synchronous_commit off'],
  ['at once', 'synchronous_commit on'],
]);

export function useSynchronousCommit(postgres: LocalPostgres, durability: Durability): Promise<void> {
  return postgres.set('synchronous_commit', durability === 'at once' ? 'on' : 'off');
}

/** Starts the api and the worker in the folder of a peer's name, on a Postgres of their own. */
export async function startOnPostgres(
  peer: Installable,
  { upstreamUrl, slots }: PeerSurroundings,
): Promise<RunningPeer> {
  const postgres = await startLocalPostgres();
  const children: Child[] = [];
  const stop = async () => {
    await Promise.all(children.map((child) => child.stop()));
    await postgres.stop();
  };
  const env = peerVariables({ folder: folderOf(peer), storeUrl: postgres.url, upstreamUrl, slots });
  const start = async (role: 'api' | 'worker') => {
    const child = await startChild({
      name: `${peer.name} ${role}`,
      ...ownProcess(`./durable-peers/${peer.name}/${role}`),
      env,
    });
    children.push(child);
    return child;
  };
  try {
    const api = await start('api'); // makes the tables
    const worker = await start('worker');
    const url = String(api.ready['url']);
    return {
      store: postgres.version,
      settings: synchronousCommit,
      use: (durability) => useSynchronousCommit(postgres, durability),
      whole: generateTarget(url),
      background: acceptTarget(url),
      processes: new Map<string, Pick<Child, 'pid'>>([
        ['api', api],
        ['worker', worker],
        ['store', postgres],
      ]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
