import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FatalError } from '../fatal-error.ts';
import { chooseStore, type StoreKind } from './choose-store.ts';
import { lastWordsOf } from './last-words.ts';
import type { StoreMessage } from './store-process.ts';

export interface StartStoreOptions {
  /** The operator's `DATA_DIR`; a local store uses `redis` below it. */
  dataDir: string;
  redisUrl: string | undefined;
  /** The `PATH` to look for a server on. */
  path: string | undefined;
  /** Port of a local store on 127.0.0.1; a free one by default. */
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
  /** Why this one was chosen, in words. */
  why: string;
  /** The store's process; undefined for the operator's Redis. */
  pid: number | undefined;
  /** The server's own process, where the store's process keeps one. */
  serverPid: number | undefined;
  /** Resolves when a local store's process has ended, asked or not; never for the operator's Redis. */
  exited: Promise<StoreExit>;
  /**
   * Saves and ends a local store, after everything that uses it has ended; leaves the operator's Redis alone. Twice is
   * fine. The process is killed when it takes more than fifteen seconds.
   */
  stop(): Promise<void>;
}

/**
 * Finds a Redis: the operator's if `REDIS_URL` is set, else one in a process of its own, which this starts and waits
 * for. Rejects with a `FatalError` when that fails, for example because another Sluice uses the directory.
 *
 * The store ends with this process, however that ends, and ignores Ctrl-C. `exited` must be watched: nobody starts
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
  const lastWords = lastWordsOf(child);
  const exited = new Promise<StoreExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const { url, kind, why, serverPid } = await untilReady(child, exited, lastWords);
  let stopping: Promise<void> | undefined;
  // A killed store process cannot end its server. The next start would find it, but there may be none.
  void exited.then(() => {
    if (stopping === undefined && serverPid !== undefined) endOrphan(serverPid);
  });
  return { url, kind, why, pid: child.pid, serverPid, exited, stop: () => (stopping ??= end(child, exited)) };
}

function forkStore({ dataDir, path, port = 0 }: StartStoreOptions): ChildProcess {
  // From source this file is TypeScript, and so is the other; built, both are not.
  const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const file = fileURLToPath(new URL(`./store-process.${ending}`, import.meta.url));
  return fork(file, ['--directory', join(dataDir, 'redis'), '--port', String(port)], {
    // The embedded Valkey writes its log to standard output, which is the parent's for its own lines.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [...conditionFlags(process.execArgv), '--disable-warning=ExperimentalWarning'],
    // Credentials in the environment are no business of the store's.
    env: { PATH: path ?? '' },
    // A session of its own: the terminal's hang-up does not reach it. On Windows it would open a window instead.
    detached: process.platform !== 'win32',
  });
}

/** Debugger ports and preloads of the parent would be in the way. */
function conditionFlags(execArgv: readonly string[]): string[] {
  return execArgv.flatMap((flag, index) => {
    if (flag.startsWith('--conditions=')) return [flag];
    const next = execArgv[index + 1];
    return (flag === '--conditions' || flag === '-C') && next !== undefined ? [flag, next] : [];
  });
}

type ReadyMessage = Extract<StoreMessage, { type: 'ready' }>;

async function untilReady(
  child: ChildProcess,
  exited: Promise<StoreExit>,
  lastWords: () => string,
): Promise<ReadyMessage> {
  const answered = new Promise<StoreMessage>((resolve, reject) => {
    // Only `store-process.ts` writes to this channel, and it writes nothing else.
    child.once('message', (message) => resolve(message as StoreMessage));
    child.once('error', reject);
  });
  const silent = exited.then(({ code, signal }): StoreMessage => {
    const ending = signal === null ? `code ${code}` : `signal ${signal}`;
    const message = `The store ended before it was ready (${ending}). Its last words: ${lastWords()}`;
    return { type: 'failed', message, exitCode: 1 };
  });
  const message = await Promise.race([answered, silent]);
  if (message.type === 'ready') return message;
  await exited;
  throw new FatalError(message.message, { exitCode: message.exitCode });
}

const STOP_WITHIN_MS = 15_000;

/** Closing the channel is the one request to stop that every platform knows. */
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
