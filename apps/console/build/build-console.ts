import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { takeLock } from './build-lock.ts';
import { publish, publishedDigest } from './publish.ts';
import { digestSources } from './sources.ts';

export interface BuildOptions {
  /** The folder of the console. */
  root: string;
  /** Where the build goes. */
  folder: string;
  /** Makes a build of `root` in the empty folder `made`. */
  make: (made: string) => Promise<void>;
  /** Called before a build begins. */
  onBegin?: () => void;
  /** Aborted: the build is given up, and nothing is published. */
  signal?: AbortSignal;
}

/** `fresh`: the build there was made of these sources. `elsewhere`: another process is building. */
export type BuildResult = 'built' | 'fresh' | 'elsewhere';

/** Builds the console, unless the build there was made of these very sources or another process is building it. */
export async function buildWhenStale(options: BuildOptions): Promise<BuildResult> {
  const { root, folder } = options;
  if ((await publishedDigest(folder)) === (await digestSources(root))) return 'fresh';
  return build(options);
}

/** Builds the console beside the one there, and replaces that when it is done. */
export async function build(options: BuildOptions): Promise<Exclude<BuildResult, 'fresh'>> {
  const { root, folder, make, onBegin, signal } = options;
  const release = await takeLock(folder);
  if (release === undefined) return 'elsewhere';
  try {
    await removeMade(folder);
    // In the same file system, so that a file can be moved in one step.
    const made = await mkdtemp(join(folder, madePrefix));
    onBegin?.();
    // Before the sources are read: a change during that time is built the next time.
    const digest = await digestSources(root);
    await unlessAborted(make(made), signal);
    await publish(made, folder, digest);
    return 'built';
  } finally {
    await removeMade(folder);
    await release();
  }
}

const madePrefix = '.made-';

/** Removes files of unpublished builds: of this one, or of one whose process died. */
async function removeMade(folder: string): Promise<void> {
  const left = (await readdir(folder)).filter((name) => name.startsWith(madePrefix));
  await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Rejects as soon as the signal is aborted; vite itself cannot be stopped. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const give = () => aborted.reject(signal?.reason);
  signal?.addEventListener('abort', give);
  if (signal?.aborted) give();
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal?.removeEventListener('abort', give);
  }
}
