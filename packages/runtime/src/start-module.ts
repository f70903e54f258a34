import { type ChildProcess, fork, type ForkOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Whether this module runs from its source, as its caller then does, or as it was built. */
const isSource = import.meta.url.endsWith('.ts');

/** Preloads, debugger ports and limits of the process are left out. */
const execArgv = [
  ...(isSource ? ['--conditions=sluice-source'] : []),
  '--disable-warning=ExperimentalWarning',
];

/** The module to run, given the URL of its source: a build renames imports alone. */
function runnable(source: URL): URL {
  return isSource ? source : new URL(source.href.replace(/\.ts$/, '.js'));
}

/** Starts a thread from a module beside the one that asks. `source` is the URL of its source. */
export function startThread(source: URL, options: Omit<WorkerOptions, 'execArgv'>): Worker {
  return new Worker(runnable(source), { ...options, execArgv });
}

/** Starts a process from a module beside the one that asks. `source` is the URL of its source. */
export function forkModule(
  source: URL,
  args: readonly string[],
  options: Omit<ForkOptions, 'execArgv'>,
): ChildProcess {
  return fork(fileURLToPath(runnable(source)), args, { ...options, execArgv });
}
