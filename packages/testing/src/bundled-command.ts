import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Bundles the command, unless its bundle was made of the sources as they are. Every process of the service that a test or a
 * measurement starts runs from it.
 */
export async function bundleCommand(): Promise<void> {
  const build = fileURLToPath(new URL('../../../apps/sluice/build/main.ts', import.meta.url));
  await promisify(execFile)(process.execPath, [build]);
}
