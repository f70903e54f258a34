import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { within } from './wait-until.ts';

const SERVERS = ['valkey-server', 'redis-server'];

/** Whether the PATH has a server that can be frozen and killed; the embedded store can be neither as a server can. */
export const hasServer = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => SERVERS.some((name) => existsSync(join(folder, name))));

export interface LocalRedisOptions {
  /** A server of the PATH, or the embedded store; by default what `SLUICE_TEST_STORE` says, or the first that is there. */
  kind?: 'server' | 'embedded';
  /** Where the data lies. A temporary directory by default, removed by `stop`. */
  directory?: string;
  /** Port on 127.0.0.1; a free one by default. */
  port?: number;
  /** Where to look for a server; the PATH of the test by default. */
  path?: string;
}

/** A Redis of a test's own, which it may freeze, kill and start again over the same data. */
export interface LocalRedis {
  url: string;
  port: number;
  kind: 'server' | 'embedded';
  directory: string;
  /** The process that answers: the server's, or the store's when that is embedded. For signals. */
  pid: number;
  /** Resolves when the store's process has ended. */
  exited: Promise<void>;
  /** Kills it as a crash would, and resolves when it is gone. The data stays. */
  kill(): Promise<void>;
  /** Saves and ends it, and removes a temporary directory. Twice, or after `kill`, is fine. */
  stop(): Promise<void>;
}

/**
 * Starts the product's own local store in a process of its own. The file is found by its path: `runtime` is tested
 * with this package, so this package cannot depend on it.
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

const STORE_PROCESS = new URL('../../runtime/src/store/store-process.ts', import.meta.url);

/** A run with the embedded store shows that the tests need no server; without the variable the store chooses. */
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
    // A killed server is reported on standard error, where a test that kills it does not want to read of it.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: ['--disable-warning=ExperimentalWarning'],
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
