import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The file that says that a build is under way; the api looks for it, too. It holds the id of the process that builds. */
export const lockName = '.building';

/** A build takes seconds. A lock that is older than this, in milliseconds, was left by a process that is gone. */
const staleAfterMs = 120_000;

/**
 * Takes the lock of a folder, so that processes that start at once do not all build. It saves work and no more: a build that goes on
 * beside another one harms nothing.
 *
 * @returns a function that gives it back; undefined while another process has it.
 */
export async function takeLock(folder: string): Promise<(() => Promise<void>) | undefined> {
  const file = join(folder, lockName);
  await mkdir(folder, { recursive: true });
  if (await isLeftBehind(file)) await rm(file, { force: true });
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(String(process.pid));
    await handle.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
  return () => rm(file, { force: true });
}

async function isLeftBehind(file: string): Promise<boolean> {
  try {
    const [{ mtimeMs }, text] = await Promise.all([stat(file), readFile(file, 'utf8')]);
    if (Date.now() - mtimeMs > staleAfterMs) return true;
    // It is empty for the moment between its creation and its first byte.
    return text !== '' && !isRunning(Number(text));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
