import { loadSettings } from '@sluice/config';
import type { FailureCode, Generation } from '@sluice/contract';
import { type Provider, type ProviderChunk, ProviderError, type ProviderCall } from '@sluice/providers';
import { createLogger } from '@sluice/runtime';
import { type Latch, latch, usageOf } from '@sluice/testing';
import { WorkerProcess } from '@sluice/worker';

/** One run of a response under the control of a test. */
export interface Run {
  /** What is run, as far as a provider is told. */
  record: { id: string; request: Generation & { metadata?: Record<string, string> } };
  /** Aborted when the run is to end. */
  cancelled: AbortSignal;
  /** Says a piece of the message. */
  say(delta: string): void;
  /** Thinks a piece of the reasoning. */
  think(delta: string): void;
  /** Answers a text of the input with a vector. */
  embed(base64: string): void;
  /** Calls a function of the client. */
  call(name: string, args: string): void;
  /** Ends the answer, before a stop sequence if one is given. */
  complete(stopSequence?: string): Promise<void>;
  fail(code: FailureCode): Promise<void>;
  /** Waits until somebody ends the run, and obeys. */
  hang(): Promise<void>;
}

/** What is done with a run. */
export type RunScript = (run: Run) => Promise<void>;

export interface ScriptedWorker {
  /** Runs so far, in order. */
  runs: Run[];
  /** What is done with responses from now on; by default each says `Hello` and is complete. */
  onRun(script: RunScript): void;
  /** Lets each say these texts, and be complete. */
  answer(...texts: string[]): void;
  /** Lets each say a text, if one is given, and wait until it is ended, or complete when it may go on. */
  hold(says?: string): { begun: Latch<Run>; goOn: Latch };
  /** Whether it runs nothing, and may be given more. */
  readonly isIdle: boolean;
  /** Forgets the runs so far, and does the default with those to come. */
  forget(): void;
  stop(): Promise<void>;
}

const sayHello: RunScript = async (run) => {
  run.say('Hello');
  await run.complete();
};

const usage = usageOf(3, 2);

/** A worker process in the process of a test, with an upstream that does what the test says. */
export async function startScriptedWorker({
  redisUrl,
  keyPrefix,
  models,
  contextTokens = {},
  journal = true,
}: {
  redisUrl: string;
  keyPrefix: string;
  models: readonly string[];
  /** By the id of a model. */
  contextTokens?: Record<string, number>;
  /** Whether it keeps the journal; true by default. */
  journal?: boolean;
}): Promise<ScriptedWorker> {
  const runs: Run[] = [];
  let script = sayHello;
  let running = 0;
  let isStopped = false;
  const provider: Provider = {
    id: 'scripted',
    generate: (generation, call) => {
      const { run, chunks } = startRun(generation, call);
      runs.push(run);
      running += 1;
      const scripted = script(run).finally(() => (running -= 1));
      return chunks(scripted);
    },
    close: () => Promise.resolve(),
  };
  const modelSetting = (id: string) => {
    const holds = contextTokens[id] === undefined ? '' : `, contextTokens: ${contextTokens[id]}`;
    return `{ id: '${id}', routes: [{ provider: scripted }]${holds} }`;
  };
  const file = `
keyPrefix: '${keyPrefix}'
providers: [{ id: scripted, type: simulator }]
models: [${models.map(modelSetting).join(', ')}]
console: { journal: ${journal} }
drainTimeoutMs: 5000
`;
  const settings = loadSettings({
    env: { REDIS_URL: redisUrl },
    argv: [],
    cwd: '/',
    role: 'worker',
    readFile: () => file,
  });
  const worker = new WorkerProcess({
    settings: { ...settings, redisUrl },
    providers: new Map([[provider.id, provider]]),
    logger: createLogger({ name: 'worker', level: 'silent' }),
    onReady: () => undefined,
  });
  await worker.start(new AbortController().signal);
  const onRun = (next: RunScript) => {
    script = next;
  };
  return {
    runs,
    onRun,
    answer(...texts) {
      onRun((run) => {
        for (const text of texts) run.say(text);
        return run.complete();
      });
    },
    hold(says = '') {
      const [begun, goOn] = [latch<Run>(), latch()];
      onRun(async (run) => {
        if (says !== '') run.say(says);
        begun.open(run);
        await Promise.race([goOn.wait(), run.hang()]);
        if (!run.cancelled.aborted) await run.complete();
      });
      return { begun, goOn };
    },
    get isIdle() {
      return running === 0 && !isStopped;
    },
    forget() {
      runs.length = 0;
      script = sayHello;
    },
    stop() {
      isStopped = true;
      return worker.stop('terminated');
    },
  };
}

function startRun(generation: Generation, call: ProviderCall) {
  const waiting: ProviderChunk[] = [];
  const ended = Promise.withResolvers<void>();
  let wake: () => void = () => undefined;
  const push = (...added: ProviderChunk[]) => {
    waiting.push(...added);
    wake();
  };
  const run: Run = {
    record: { id: call.responseId, request: generation },
    cancelled: call.signal,
    say: (delta) => push({ type: 'text', delta }),
    think: (delta) => push({ type: 'reasoning_text', delta }),
    embed: (delta) => push({ type: 'message' }, { type: 'text', delta }),
    call: (name, delta) => {
      push(
        { type: 'function_call', callKey: name, name },
        { type: 'function_arguments', callKey: name, delta },
      );
    },
    complete: (stopSequence) => {
      const stopped = stopSequence === undefined ? {} : { stopSequence };
      push({ type: 'usage', usage }, { type: 'finish', reason: 'stop', ...stopped });
      ended.resolve();
      return ended.promise;
    },
    fail: (code) => {
      ended.reject(new ProviderError(code, 'scripted', { disposition: 'fail' }));
      wake();
      return Promise.resolve();
    },
    hang: async () => {
      const { signal } = call;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  ended.promise.catch(() => undefined); // The reader of the chunks is told.
  async function* chunks(scripted: Promise<void>): AsyncGenerator<ProviderChunk> {
    scripted.catch((error: unknown) => ended.reject(error));
    const onAbort = () => {
      ended.reject(call.signal.reason);
      wake();
    };
    call.signal.addEventListener('abort', onAbort, { once: true });
    if (call.signal.aborted) onAbort();
    try {
      for (;;) {
        const next = waiting.shift();
        if (next) {
          yield next;
          if (next.type === 'finish') return;
          continue;
        }
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        if (waiting.length === 0) await Promise.race([woken, ended.promise]);
      }
    } finally {
      call.signal.removeEventListener('abort', onAbort);
    }
  }
  return { run, chunks };
}
