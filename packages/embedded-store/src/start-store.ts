import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { FatalError, forkModule } from '@sluice/runtime';
import { chooseStore, type StoreKind } from './choose-store.ts';
import { outputTail } from './output-tail.ts';
import type { StoreMessage } from './store-process.ts';

export interface StartStoreOptions {
  /** The operator's `DATA_DIR`. A local store uses the folder `redis` in it. */
  dataDir: string;
  redisUrl: string | undefined;
  /** The `PATH` to search for a server. */
  path: string | undefined;
  /** The port of a local store on 127.0.0.1; a free one by default. */
  port?: number;
}

/** How a local store ended. */
export interface StoreExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A Redis to work with, wherever it runs. */
export interface RunningStore {
  url: string;
  kind: StoreKind;
  /** Why this one was chosen, for the operator to read. */
  why: string;
  /** The id of the store's process; undefined for the operator's Redis. */
  pid: number | undefined;
  /** The id of the server's process, if the store's process runs one. */
  serverPid: number | undefined;
  /** Resolves when the process of a local store has ended, for whatever reason. Never for the operator's Redis. */
  exited: Promise<StoreExit>;
  /**
   * Saves and ends a local store; leaves the operator's Redis alone. Call it when all users of the store have ended.
   * Twice is fine. The process is killed if it takes more than fifteen seconds.
   */
  stop(): Promise<void>;
}

/**
 * Returns a Redis that answers: the operator's if `REDIS_URL` is set, else a local store, which it starts in a process
 * of its own. Rejects with a `FatalError` when that fails, for example because another Sluice uses the directory.
 *
 * The store ends with this process, however that ends, and ignores Ctrl-C. Callers must watch `exited`: nothing starts
 * the store again.
 */
export async function startStore(options: StartStoreOptions): Promise<RunningStore> {
  const choice = chooseStore(options);
  if (choice.kind === 'external') {
    return {
      url: choice.url,
      kind: 'external',
      why: choice.why,
      pid: undefined,
      serverPid: undefined,
      exited: new Promise(() => undefined),
      stop: () => Promise.resolve(),
    };
  }
  const child = forkStore(options);
  const lastLines = outputTail(child);
  const exited = new Promise<StoreExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const { url, kind, why, serverPid } = await untilReady(child, exited, lastLines);
  let stopping: Promise<void> | undefined;
  // A store process that was killed cannot end its server. The next start would, but there may be none.
  void exited.then(() => {
    if (stopping === undefined && serverPid !== undefined) endOrphan(serverPid);
  });
  return { url, kind, why, pid: child.pid, serverPid, exited, stop: () => (stopping ??= end(child, exited)) };
}

function forkStore({ dataDir, path, port = 0 }: StartStoreOptions): ChildProcess {
  const args = ['--directory', join(dataDir, 'redis'), '--port', String(port)];
  return forkModule(new URL('./store-process.ts', import.meta.url), args, {
    // The embedded Valkey logs to standard output, which belongs to the parent's own lines.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    // The store gets no credentials of the environment.
    env: { PATH: path ?? '' },
    // A session of its own, so that a hang-up of the terminal does not reach it. On Windows it would open a window.
    detached: process.platform !== 'win32',
  });
}

type ReadyMessage = Extract<StoreMessage, { type: 'ready' }>;

async function untilReady(
  child: ChildProcess,
  exited: Promise<StoreExit>,
  lastLines: () => string,
): Promise<ReadyMessage> {
  const answered = new Promise<StoreMessage>((resolve, reject) => {
    // `store-process.ts` sends nothing else on this channel, so the cast holds.
    child.once('message', (message) => resolve(message as StoreMessage));
    child.once('error', reject);
  });
  const silent = exited.then(({ code, signal }): StoreMessage => {
    const ending = signal === null ? `code ${code}` : `signal ${signal}`;
    const message = `The store ended before it was ready (${ending}). Its last words: ${lastLines()}`;
    return { type: 'failed', message, exitCode: 1 };
  });
  const message = await Promise.race([answered, silent]);
  if (message.type === 'ready') return message;
  await exited;
  throw new FatalError(message.message, { exitCode: message.exitCode });
}

const STOP_WITHIN_MS = 15_000;

/** Closing the IPC channel requests a stop on every platform. */
async function end(child: ChildProcess, exited: Promise<StoreExit>): Promise<void> {
  if (child.connected) child.disconnect();
  const deadline = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await exited;
  clearTimeout(deadline);
}

function endOrphan(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has ended already.
  }
}
