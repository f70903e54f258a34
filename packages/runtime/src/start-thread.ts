import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread from a module beside the one that asks. `file` is the URL of its source; the built module is run where
 * the asking one is built, and conditions of the process hold in the thread.
 */
export function startThread(file: URL, options: Omit<WorkerOptions, 'execArgv'>): Worker {
  // As it stands in the caller: a build renames imports alone.
  const isSource = import.meta.url.endsWith('.ts');
  const url = isSource ? file : new URL(file.href.replace(/\.ts$/, '.js'));
  return new Worker(url, {
    ...options,
    // Preloads, debugger ports and limits of the process are left out.
    execArgv: [...(isSource ? ['--conditions=sluice-source'] : []), '--disable-warning=ExperimentalWarning'],
  });
}
