import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort } from './free-ports.ts';
import { within } from './wait-until.ts';

const SERVERS = ['valkey-server', 'redis-server'];

/** Whether there is a server on the PATH. A test can freeze and kill a server, but not the embedded store. */
export const hasServer = serverOnPath() !== undefined;

/** The path of the first server on the PATH, or undefined if there is none. */
export function serverOnPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .flatMap((folder) => SERVERS.map((name) => join(folder, name)))
    .find((file) => existsSync(file));
}

/** Whether that server is of this version of Redis or newer. Every Valkey is of 7.2 at least. */
export function isServerAtLeast(major: number, minor: number): boolean {
  const binary = serverOnPath();
  if (binary === undefined) return false;
  const printed = spawnSync(binary, ['--version'], { encoding: 'utf8' }).stdout;
  const [, ofMajor = 0, ofMinor = 0] = (/v=(\d+)\.(\d+)/.exec(printed) ?? []).map(Number);
  return ofMajor > major || (ofMajor === major && ofMinor >= minor);
}

export interface LocalRedisOptions {
  /** A server from the PATH or the embedded store. Default: what `SLUICE_TEST_STORE` says, else the store chooses. */
  kind?: 'server' | 'embedded';
  /** The directory of the data. Default: a temporary directory, which `stop` removes. */
  directory?: string;
  /** Port on 127.0.0.1. Default: a free one. */
  port?: number;
  /** Where to look for a server. Default: the PATH of the test. */
  path?: string;
  /** Further settings of a server, by their names. */
  settings?: Readonly<Record<string, string>>;
}

/** A Redis for one test, which may freeze it, kill it, and start it again with the same data. */
export interface LocalRedis {
  url: string;
  port: number;
  kind: 'server' | 'embedded';
  directory: string;
  /** The process to send signals to: that of the server, or of the embedded store. */
  pid: number;
  /** Resolves when the process of the store has ended. */
  exited: Promise<void>;
  /** Kills it as a crash would, and resolves when it has ended. The data stays. */
  kill(): Promise<void>;
  /** Saves the data, stops the store, and removes a temporary directory. May be called twice, or after `kill`. */
  stop(): Promise<void>;
}

/**
 * Starts a server from the PATH, or else the local store of the product, as that does. A server of its own takes half a
 * second of CPU time less than one below a process of the product.
 */
export async function startLocalRedis(options: LocalRedisOptions = {}): Promise<LocalRedis> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'sluice-redis-')));
  const removeDirectory = async () => {
    if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
  };
  const kind = options.kind ?? kindForTheRun();
  const binary = options.path === undefined && kind !== 'embedded' ? serverOnPath() : undefined;
  try {
    const started =
      binary === undefined
        ? await startStore(directory, { ...options, ...(kind && { kind }) })
        : await startServer(binary, directory, options);
    const { pid, exited } = started;
    return {
      ...started,
      directory,
      async kill() {
        process.kill(pid, 'SIGKILL');
        await within(exited);
      },
      async stop() {
        await started.stop();
        await removeDirectory();
      },
    };
  } catch (error) {
    await removeDirectory();
    throw error;
  }
}

type Started = Omit<LocalRedis, 'directory' | 'kill'>;

/** Runs a server, prints its process id, and kills it when standard input ends, as that does when the test is killed. */
const SUPERVISOR = `
exec 3<&0
"$@" >/dev/null 2>&1 3<&- &
server=$!
(read line; kill -9 $server) <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
echo $server
wait $server
kill $watcher 2>/dev/null
`;

/** Starts a server with the settings that the local store of the product gives it. */
async function startServer(binary: string, directory: string, options: LocalRedisOptions): Promise<Started> {
  const port = options.port ?? (await freePort());
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const supervisor = spawn('/bin/sh', ['-c', SUPERVISOR, 'sh', binary, ...flags], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {},
  });
  const exited = new Promise<void>((resolve) => {
    supervisor.once('exit', () => resolve());
  });
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { protocol: 2, maxRetriesPerRequest: null, retryStrategy: () => 10 });
  client.on('error', () => undefined); // Connections are refused until the server listens.
  try {
    const [printed] = await within(once(supervisor.stdout, 'data'));
    const pid = Number(String(printed));
    const ended = exited.then(() => Promise.reject(new Error(`no Redis was started: ${binary} has ended`)));
    await within(Promise.race([client.ping(), ended]));
    const stop = async () => {
      // Nobody reads a temporary directory again.
      if (options.directory === undefined) supervisor.stdin.destroy();
      else if (supervisor.exitCode === null) process.kill(pid, 'SIGTERM');
      await within(exited);
    };
    return { url, port, kind: 'server', pid, exited, stop };
  } catch (error) {
    supervisor.stdin.destroy();
    await within(exited);
    throw error;
  } finally {
    client.disconnect();
  }
}

/** Starts the local store of the product. Its file is found by its path, because its tests use this package. */
async function startStore(directory: string, options: LocalRedisOptions): Promise<Started> {
  const child = forkStore(directory, options);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const stop = () => endStore(child, exited);
  try {
    const { url, kind, serverPid } = await untilReady(child, exited);
    // A store process exits by itself when its server is gone.
    const pid = serverPid ?? child.pid;
    if (pid === undefined) throw new Error('the store has no process');
    return { url, port: Number(new URL(url).port), kind, pid, exited, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const STORE_PROCESS = new URL('../../embedded-store/src/store-process.ts', import.meta.url);

/** The kind that `SLUICE_TEST_STORE` asks for. Without the variable, the store chooses. */
function kindForTheRun(): 'embedded' | undefined {
  return process.env['SLUICE_TEST_STORE'] === 'embedded' ? 'embedded' : undefined;
}

interface ReadyMessage {
  url: string;
  kind: 'server' | 'embedded';
  serverPid?: number;
}

function forkStore(directory: string, { kind, port = 0, path }: LocalRedisOptions): ChildProcess {
  const settings = ['--directory', directory, '--port', String(port)];
  if (kind !== undefined) settings.push('--kind', kind);
  return fork(fileURLToPath(STORE_PROCESS), settings, {
    // The store reports a killed server on standard error. A test that kills it does not want to see that.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: ['--conditions=sluice-source', '--disable-warning=ExperimentalWarning'],
    env: { PATH: path ?? process.env['PATH'] ?? '' },
  });
}

async function untilReady(child: ChildProcess, exited: Promise<void>): Promise<ReadyMessage> {
  const message = await within(
    Promise.race([
      new Promise<unknown>((resolve) => child.once('message', resolve)),
      exited.then(() => undefined),
    ]),
  );
  if (isReady(message)) return message;
  throw new Error(`no Redis was started: ${JSON.stringify(message)}`);
}

function isReady(message: unknown): message is ReadyMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}

async function endStore(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.connected) child.disconnect();
  await within(exited);
}
