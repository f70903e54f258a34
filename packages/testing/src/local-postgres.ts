import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-ports.ts';
import { type ServerProgram, startProgram } from './server-program.ts';

/** A server with the defaults of its release, on a port of the loopback interface and a folder of its own. */
export interface LocalPostgres {
  url: string;
  port: number;
  pid: number;
  version: string;
  /** Changes a setting, which every process of the server then reads. */
  set: (name: string, value: string) => Promise<void>;
  /** Ends it as a crash would, and starts it again with the same data. */
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}

const run = promisify(execFile);

/** Whether there is a server. */
export const hasPostgres = programsFolder() !== undefined;

/** Starts a server. As root, it runs as the user `postgres`, because the server refuses to run as root. */
export async function startLocalPostgres(): Promise<LocalPostgres> {
  const programs = programsFolder();
  if (programs === undefined) throw new Error('There is no Postgres: install it, or put initdb on the PATH.');
  const user = process.getuid?.() === 0 ? await postgresUser() : undefined;
  const directory = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
  const data = join(directory, 'data');
  const port = await freePort();
  const removeDirectory = () => rm(directory, { recursive: true, force: true });
  try {
    if (user) await chown(directory, user.uid, user.gid);
    await run(
      join(programs, 'initdb'),
      ['-D', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'],
      { cwd: directory, ...user },
    );
    const start = () => startServer(join(programs, 'postgres'), { data, port, directory, user });
    let server = await start();
    const { stdout } = await run(join(programs, 'postgres'), ['--version']);
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      port,
      get pid() {
        return server.pid;
      },
      version: stdout.trim(),
      async set(name, value) {
        // The last line of a setting counts.
        await appendFile(join(data, 'postgresql.conf'), `${name} = ${value}\n`);
        process.kill(server.pid, 'SIGHUP');
      },
      async restart() {
        await server.end('SIGQUIT');
        server = await start();
      },
      async stop() {
        await server.end('SIGINT'); // the fast shutdown, which waits for no client
        await removeDirectory();
      },
    };
  } catch (error) {
    await removeDirectory();
    throw error;
  }
}

function startServer(
  binary: string,
  {
    data,
    port,
    directory,
    user,
  }: { data: string; port: number; directory: string; user: object | undefined },
): Promise<ServerProgram> {
  const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-c', 'unix_socket_directories='];
  return startProgram(binary, args, {
    name: 'Postgres',
    readyLine: 'ready to accept connections',
    lastSignal: 'SIGQUIT',
    cwd: directory,
    ...user,
  });
}

/** The folder of `initdb` and its kin: on the PATH, or where Debian puts the newest. */
function programsFolder(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...newestFirst.map((version) => join(debian, version, 'bin')),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')));
}

async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const idOf = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}
