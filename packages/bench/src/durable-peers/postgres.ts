import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@sluice/testing';
import { type Command, spawnProcess, untilStarted } from '../spawned-process.ts';
import type { Durability } from './durable-peer.ts';

/** A server with the defaults of its release, on a port of the loopback interface. */
export interface Postgres {
  url: string;
  port: number;
  pid: number;
  version: string;
  use: (durability: Durability) => Promise<void>;
  stop: () => Promise<void>;
}

export const synchronousCommit: ReadonlyMap<Durability, string> = new Map([
  ['soon', 'synchronous_commit off'],
  ['at once', 'synchronous_commit on'],
]);

const run = promisify(execFile);

/** Starts a server on a folder of its own. As root, it runs as the user `postgres`, because the server refuses to run as root. */
export async function startPostgres(): Promise<Postgres> {
  const programs = await programsFolder();
  const user = process.getuid?.() === 0 ? await postgresUser() : undefined;
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-postgres-'));
  const data = join(directory, 'data');
  const asUser = { cwd: directory, ...user };
  const port = await freePort();
  try {
    if (user) await chown(directory, user.uid, user.gid);
    await run(
      join(programs, 'initdb'),
      ['-D', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'],
      asUser,
    );
    const child = spawnProcess({
      file: join(programs, 'postgres'),
      args: ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-c', 'unix_socket_directories='],
      cwd: directory,
      stopSignal: 'SIGINT', // the fast shutdown, which waits for no client
      ...(user && { user }),
    } satisfies Command);
    const stop = async () => {
      await child.stop();
      await rm(directory, { recursive: true, force: true });
    };
    try {
      await untilStarted('Postgres', child, () =>
        Promise.resolve(child.output().includes('ready to accept connections') || 'it is not ready'),
      );
      const { stdout } = await run(join(programs, 'postgres'), ['--version']);
      return {
        url: `postgres://postgres@127.0.0.1:${port}/postgres`,
        port,
        pid: child.pid,
        version: stdout.trim(),
        async use(durability) {
          // The last line of a setting counts, and a signal makes every process of the server read the file again.
          const value = durability === 'at once' ? 'on' : 'off';
          await appendFile(join(data, 'postgresql.conf'), `synchronous_commit = ${value}\n`);
          process.kill(child.pid, 'SIGHUP');
        },
        stop,
      };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** The folder of `initdb` and its kin: on the PATH, or where Debian puts the newest. */
async function programsFolder(): Promise<string> {
  const debian = '/usr/lib/postgresql';
  const versions = await readdir(debian).catch((): string[] => []);
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...newestFirst.map((version) => join(debian, version, 'bin')),
  ];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (found === undefined) throw new Error('There is no Postgres: install it, or put initdb on the PATH.');
  return found;
}

async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const idOf = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}
