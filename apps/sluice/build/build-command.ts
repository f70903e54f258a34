import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle } from './bundle.ts';
import { digestOf } from './freshness.mjs';
import { publish } from './publish.ts';

/**
 * Bundles the command into a folder of the repository. Two builds at once do not disturb each other.
 *
 * @param root The top of the repository.
 * @throws when a module is missing or cannot be parsed; what stood in the folder stays.
 */
export async function buildCommand(root: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const made = await mkdtemp(join(folder, '.made-'));
  try {
    const sources = await bundle({ root, folder, made });
    await publish(made, folder, { sources, digest: digestOf(root, sources) });
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
