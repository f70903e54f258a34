import { type ChildProcess, fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A file that exists once the build is done. */
const builtPage = fileURLToPath(new URL('../../console/dist/index.html', import.meta.url));

/** The command that shows why a build fails. */
const command = 'npm run build --workspace apps/console';

export interface ConsoleBuildOptions {
  /** Prints a line for the person who runs the process. */
  say: (line: string) => void;
  /** Whether a person watches, and should be told that a build begins. */
  isWatched: boolean;
  /** The script that builds; null for a service that does not build. */
  script?: string | null;
  /** Whether there is a console to serve; looked at when nothing can build one. */
  isBuilt?: boolean;
}

/**
 * Builds the console beside an api that runs from source, if its build is not there or was made of other sources. The build
 * is a process of its own, of the lowest priority, so the api is not held up. A service that was built has its console built
 * already. One that was installed without the build tools says that it has none.
 *
 * @returns a function that ends the build, and resolves when it has ended.
 */
export function buildConsoleBeside(options: ConsoleBuildOptions): () => Promise<void> {
  const { say, isWatched, script = findBuilder(), isBuilt = existsSync(builtPage) } = options;
  if (script === null) {
    if (!isBuilt) {
      say(`sluice: there is no console, because it is not built; 'npm ci && ${command}' builds it`);
    }
    return async () => undefined;
  }
  const child = fork(script, ['--when-stale'], { execArgv: [], stdio: 'ignore' });
  let isStopping = false;
  child.on('message', () => {
    if (isWatched) say('sluice: building the console, which takes some seconds the first time');
  });
  const ended = endOf(child).then((code) => {
    if (code !== 0 && !isStopping) say(`sluice: the console could not be built; '${command}' says why`);
  });
  return async () => {
    isStopping = true;
    child.kill();
    await ended;
  };
}

/** The script that builds the console, for a run from a checkout with the libraries for it; an image has neither. */
function findBuilder(): string | null {
  if (!process.execArgv.includes('--conditions=sluice-source')) return null;
  const script = fileURLToPath(new URL('../../console/build/main.ts', import.meta.url));
  try {
    createRequire(script).resolve('vite');
  } catch {
    return null;
  }
  return existsSync(script) ? script : null;
}

/** The exit code of a process; undefined for one that was killed or could not be started. */
function endOf(child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? undefined));
    child.once('error', () => resolve(undefined));
  });
}
