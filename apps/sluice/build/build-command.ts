import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { digestOf } from './freshness.mjs';
import { publish } from './publish.ts';

/** Prefix of the folders in which bundles are made. */
const madePrefix = '.made-';

/** A bundle that has been in the making for so long will not be finished, in milliseconds. */
const abandonedMs = 600_000;

/**
 * Bundles the command into a folder of the repository. Two builds at once do not disturb each other. A bundle whose sources
 * changed meanwhile runs, and counts as stale.
 *
 * @param root The top of the repository.
 * @throws when a module is missing or cannot be parsed; the bundle in the folder stays.
 */
export async function buildCommand(root: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await removeAbandoned(folder);
  const made = await mkdtemp(join(folder, madePrefix));
  try {
    // By the clock that gives the files their times.
    const { mtimeMs: begunAt } = await stat(made);
    const sources = await bundle({ root, folder, made });
    const digest = digestOf(root, sources);
    const hasChanged = await wasWritten(
      sources.map((file) => join(root, file)),
      { after: begunAt, until: Date.now() + 1 },
    );
    await publish(made, folder, { sources, digest: hasChanged ? '' : digest });
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** Removes the folders of builds that were killed. */
async function removeAbandoned(folder: string): Promise<void> {
  const entries = await readdir(folder);
  for (const name of entries.filter((each) => each.startsWith(madePrefix))) {
    const path = join(folder, name);
    const age = await stat(path).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > abandonedMs) await rm(path, { recursive: true, force: true });
  }
}

/** Whether one of the files was written in a span of time, or is gone. A clock that is ahead is not taken for a change. */
async function wasWritten(
  files: readonly string[],
  { after, until }: { after: number; until: number },
): Promise<boolean> {
  const times = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => until,
      ),
    ),
  );
  return times.some((time) => time > after && time <= until);
}
