import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
 * Starts the local store of the product as a process. The file is found by its path, because the tests of
 * `embedded-store` use this package, so this package cannot depend on it.
 */
export async function startLocalRedis(options: LocalRedisOptions = {}): Promise<LocalRedis> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'sluice-redis-')));
  const removeDirectory = async () => {
    if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
  };
  const child = forkStore(directory, options);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  try {
    const { url, kind, serverPid } = await untilReady(child, exited);
    const pid = serverPid ?? child.pid;
    if (pid === undefined) throw new Error('the store has no process');
    return {
      url,
      port: Number(new URL(url).port),
      kind,
      directory,
      pid,
      exited,
      async kill() {
        // A store process exits by itself when its server is gone.
        process.kill(pid, 'SIGKILL');
        await within(exited);
      },
      async stop() {
        await endStore(child, exited);
        await removeDirectory();
      },
    };
  } catch (error) {
    await endStore(child, exited);
    await removeDirectory();
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

function forkStore(
  directory: string,
  { kind = kindForTheRun(), port = 0, path }: LocalRedisOptions,
): ChildProcess {
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
