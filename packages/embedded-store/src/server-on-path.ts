import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { closeRedis, FatalError } from '@sluice/runtime';
import { Redis } from 'ioredis';
import type { LocalStore, LocalStoreOptions } from './local-store.ts';
import { outputTail } from './output-tail.ts';

export interface ServerStoreOptions extends LocalStoreOptions {
  /** The server's executable. */
  binary: string;
  /** Called as soon as the server's process exists, before it opens the data. */
  onSpawn?(pid: number, port: number): void;
}

/**
 * Starts a Redis or Valkey server as a child, with an append-only log in the directory. A killed server loses nothing
 * that it acknowledged; a power cut can take the last second or two. Resolves when the server has loaded its data.
 *
 * The child has a session of its own, so Ctrl-C in a terminal does not reach it. It outlives a parent that is killed;
 * `onSpawn` lets the parent record it for the next start.
 */
export async function startServerStore(options: ServerStoreOptions): Promise<LocalStore> {
  const port = options.port === 0 ? await freePort() : options.port;
  const child = spawn(options.binary, serverArguments(options.directory, port), {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {},
  });
  const lastLines = outputTail(child);
  const failed = Promise.withResolvers<Error>();
  let isStopping = false;
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      failed.resolve(new FatalError(`${options.binary} could not be started: ${error.message}.`));
      resolve();
    });
    child.once('exit', (code, signal) => {
      const ending =
        signal === null
          ? `exited with code ${code}. Its last words: ${lastLines()}`
          : `was ended by ${signal}.`;
      if (!isStopping) failed.resolve(new FatalError(`${options.binary} ${ending}`));
      resolve();
    });
  });
  if (child.pid !== undefined) options.onSpawn?.(child.pid, port);
  const stop = async () => {
    isStopping = true;
    await endServer(child, exited);
  };
  try {
    await answersBefore(failed.promise, port);
  } catch (error) {
    await stop();
    throw error;
  }
  let stopping: Promise<void> | undefined;
  return {
    kind: 'server',
    port,
    serverPid: child.pid,
    failed: failed.promise,
    stop: () => (stopping ??= stop()),
  };
}

function serverArguments(directory: string, port: number): string[] {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    'protected-mode': 'yes',
    dir: directory,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    logfile: '',
    loglevel: 'warning',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Finds a free port. If another process takes it first, the server exits and says so. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('no free port on 127.0.0.1');
  return address.port;
}

/** Waits until the server answers, or rejects when it fails. The client is ready only once a large log is loaded. */
async function answersBefore(failed: Promise<Error>, port: number): Promise<void> {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    maxRetriesPerRequest: null,
    retryStrategy: () => 50,
    protocol: 2,
  });
  client.on('error', () => undefined); // Connections are refused until the server listens.
  try {
    const failure = await Promise.race([client.ping().then(() => undefined), failed]);
    if (failure !== undefined) throw failure;
  } finally {
    await closeRedis(client);
  }
}

const STOP_WITHIN_MS = 10_000;

/** SIGTERM makes the server flush its log. Killed after the deadline, it keeps what it acknowledged. */
async function endServer(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await exited;
  clearTimeout(deadline);
}
