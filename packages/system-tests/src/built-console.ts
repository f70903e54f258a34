import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, workspace } from '@sluice/testing';

/** Builds the console for a service that was built, unless its build is fresh. Another test may be at it, which is waited for. */
export async function builtConsole(): Promise<void> {
  const main = join(workspace, 'apps/console/build/main.ts');
  const folder = join(workspace, 'apps/console/dist');
  await promisify(execFile)(process.execPath, [main, '--when-stale']);
  await eventually(() => existsSync(join(folder, 'index.html')) && !existsSync(join(folder, '.building')), {
    timeoutMs: 60_000,
  });
}
