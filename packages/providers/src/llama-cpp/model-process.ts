import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ProviderChunk, ProviderLog } from '../provider.ts';
import { ProviderError } from '../provider.ts';
import type { FromModel, LlamaRequest, LoadOptions, RunFailure, ToModel } from './messages.ts';
import { Run } from './run.ts';

/** One batch of a prompt is computed before an abort is heard, and a slow machine takes its time. In milliseconds. */
const longestBatchMs = 60_000;

/** How long the process may take to end after it was told to, in milliseconds. */
const endWithinMs = 5_000;

interface Running {
  child: ChildProcess;
  exited: Promise<void>;
  runs: Map<number, { run: Run; deadline: NodeJS.Timeout | undefined }>;
}

export interface ModelProcessOptions {
  providerId: string;
  load: LoadOptions;
  log: ProviderLog | undefined;
  /** How long a run may go on after it was aborted, in milliseconds; a minute by default. */
  abortWithinMs?: number;
}

/**
 * The process that holds the model of one provider, seen from its worker.
 *
 * It is started when it is needed, and again after its death. Native code that crashes, and a system that is out of memory,
 * end that process alone: its runs fail with `broken`, and everything else of the worker goes on.
 */
export class ModelProcess {
  readonly #options: ModelProcessOptions;
  #loading: Promise<Running> | undefined;
  #running: Running | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(options: ModelProcessOptions) {
    this.#options = options;
  }

  /** Resolves when the model is in memory. Rejects with a `ProviderError` when it cannot be loaded; a later call tries again. */
  async load(): Promise<void> {
    await this.#loaded();
  }

  /**
   * Starts to generate, once the model is loaded. `onOver` is called when the process has nothing left to do for it. For an
   * aborted run, that is after its caller has gone.
   */
  async *run(
    request: LlamaRequest,
    signal: AbortSignal,
    onOver: () => void,
  ): AsyncGenerator<ProviderChunk, void, undefined> {
    let running: Running;
    try {
      running = await abortable(this.#loaded(), signal);
    } catch (error) {
      onOver();
      throw error;
    }
    this.#lastId += 1;
    const id = this.#lastId;
    const run = new Run(onOver);
    running.runs.set(id, { run, deadline: undefined });
    tell(running.child, { type: 'run', id, request });
    try {
      yield* run.chunks(signal);
    } finally {
      if (!run.isOver) this.#abort(running, id);
    }
  }

  /** Ends the process. Nothing may run any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = this.#running;
    if (!running) return;
    if (running.child.connected) running.child.disconnect();
    const deadline = setTimeout(() => running.child.kill('SIGKILL'), endWithinMs);
    await running.exited;
    clearTimeout(deadline);
  }

  #loaded(): Promise<Running> {
    if (this.#isClosed) return Promise.reject(new Error('The provider is closed'));
    this.#loading ??= this.#start();
    return this.#loading;
  }

  #start(): Promise<Running> {
    const { load, log, providerId } = this.#options;
    const child = forkModelProcess();
    const exited = Promise.withResolvers<void>();
    const loaded = Promise.withResolvers<Running>();
    // Every waiter handles the rejection, but there may be none.
    loaded.promise.catch(() => undefined);
    const running: Running = { child, exited: exited.promise, runs: new Map() };
    this.#running = running;
    const about = { provider: providerId, modelPath: load.modelPath };
    let reason: string | undefined;
    // The next call after this one starts another process.
    const end = (cause: Error) => {
      this.#mourn(running);
      loaded.reject(this.#notLoaded(cause));
      exited.resolve();
    };
    child.on('message', (received) => {
      // `model-main.ts` sends nothing else.
      const message = received as FromModel;
      if (message.type === 'loaded') {
        log?.info({ ...about, ...message.facts }, 'model loaded');
        loaded.resolve(running);
      } else if (message.type === 'not_loaded') {
        reason = message.reason;
        log?.error({ ...about, reason }, 'model not loaded');
        child.disconnect();
      } else this.#hear(running, message);
    });
    child.once('error', (error) => {
      // A process that was never started has no exit.
      if (child.pid === undefined) end(error);
    });
    child.once('exit', (code, signal) => {
      if (!this.#isClosed && reason === undefined) {
        log?.error({ ...about, code, signal, running: running.runs.size }, 'process of a model died');
      }
      end(new Error(reason ?? `Its process ended with ${signal ?? code}`));
    });
    tell(child, { type: 'load', options: load });
    return loaded.promise;
  }

  #mourn(running: Running): void {
    if (this.#running === running) {
      this.#running = undefined;
      this.#loading = undefined;
    }
    const failure: RunFailure = {
      code: 'upstream_error',
      disposition: 'retry',
      fault: 'broken',
      what: 'lost the process of its model',
    };
    for (const id of running.runs.keys()) this.#over(running, id, this.#errorOf(failure));
  }

  #hear(running: Running, message: Exclude<FromModel, { type: 'loaded' | 'not_loaded' }>): void {
    switch (message.type) {
      case 'chunk':
        running.runs.get(message.id)?.run.push(message.chunk);
        return;
      case 'failed':
        return this.#over(running, message.id, this.#errorOf(message.failure));
      case 'ended':
        return this.#over(running, message.id, undefined);
    }
  }

  #over({ runs }: Running, id: number, error: ProviderError | undefined): void {
    const entry = runs.get(id);
    runs.delete(id);
    clearTimeout(entry?.deadline);
    entry?.run.end(error);
  }

  /** Ends a process that does not stop an aborted run: nothing else would free its place in the line. */
  #abort({ child, runs }: Running, id: number): void {
    const entry = runs.get(id);
    if (!entry) return;
    const { abortWithinMs = longestBatchMs } = this.#options;
    tell(child, { type: 'abort', id });
    entry.deadline = setTimeout(() => child.kill('SIGKILL'), abortWithinMs);
  }

  #notLoaded(cause: Error): ProviderError {
    return new ProviderError(
      'upstream_error',
      `Provider '${this.#options.providerId}' could not load its model.`,
      {
        disposition: 'retry',
        fault: 'refused',
        cause,
      },
    );
  }

  #errorOf({ code, what, ...options }: RunFailure): ProviderError {
    return new ProviderError(code, `Provider '${this.#options.providerId}' ${what}.`, options);
  }
}

/** Whether this module runs from its source or as it was built. */
const isSource = import.meta.url.endsWith('.ts');
const source = new URL('./model-main.ts', import.meta.url);
const modelModule = isSource ? source : new URL(source.href.replace(/\.ts$/, '.js'));

function forkModelProcess(): ChildProcess {
  return fork(fileURLToPath(modelModule), [], {
    // llama.cpp prints texts of clients that it cannot parse.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    execArgv: [...(isSource ? ['--conditions=sluice-source'] : []), '--disable-warning=ExperimentalWarning'],
  });
}

/** Sends a message. If the process has ended, its exit settles the runs. */
function tell(child: ChildProcess, message: ToModel): void {
  if (child.connected) child.send(message, () => undefined);
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
