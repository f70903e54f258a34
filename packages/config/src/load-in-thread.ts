import { Worker } from 'node:worker_threads';
import { ConfigError, type Problem } from './config-error.ts';
import type { SettingsSources } from './load-settings.ts';
import type { Settings } from './settings.ts';

/** Sources that another thread can read, too: the file is read from disk. */
export type FileSources = Omit<SettingsSources, 'readFile'>;

/** The answer of the thread. Settings come as JSON, which costs this thread less than copying them as objects. */
export type ThreadAnswer = { settings: string } | { problems: readonly Problem[] };

/** The compiler renames imports alone, so where this runs as it was built, the module has another name. */
const source = new URL('./settings-thread.ts', import.meta.url);
const threadModule = import.meta.url.endsWith('.ts') ? source : new URL(source.href.replace(/\.ts$/, '.js'));

/** A load that takes longer has hung, for example on a file system that is gone. */
const deadlineMs = 60_000;

/**
 * Loads settings like `loadSettings`, in a thread of its own: parsing ten thousand keys takes half a second, which the
 * event loop of a process that serves requests does not have.
 *
 * Rejects with a `ConfigError` like `loadSettings`, with the reason of the signal once that aborts, and with another
 * error when the thread dies or does not finish within a minute. Leaves no thread behind.
 */
export async function loadSettingsInThread(sources: FileSources, signal?: AbortSignal): Promise<Settings> {
  signal?.throwIfAborted();
  const thread = new Worker(threadModule, {
    workerData: { ...sources, env: { ...sources.env } },
  });
  const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
  thread.once('message', resolve);
  thread.once('error', reject);
  thread.once('exit', (code) => reject(new Error(`the thread that loads settings ended with code ${code}`)));
  const timer = setTimeout(() => reject(new Error('settings could not be loaded in time')), deadlineMs);
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const answer = await promise;
    if ('problems' in answer) throw new ConfigError(answer.problems);
    return JSON.parse(answer.settings) as Settings; // `Settings` survives JSON
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    await thread.terminate();
  }
}
