import { eventually, type WaitOptions } from './wait-until.ts';

/** How a call ended, as the provider sees it. */
export type ScriptedEnding =
  | 'finished' // the script ended it, and everything sent was taken
  | 'failed' // the script let it fail
  | 'aborted' // its signal ended it
  | 'left'; // the caller broke out of the iteration

/** What every call carries, whatever else it does. */
interface Abortable {
  signal: AbortSignal;
}

/** One call of a model under the control of a test. */
export interface ScriptedCall<Chunk, Generation, Call extends Abortable> {
  generation: Generation;
  call: Call;
  /** Sends chunks, in order. They wait until they are taken. */
  send(...chunks: Chunk[]): void;
  /** Ends the stream behind what was sent. */
  end(): void;
  /** Lets the stream fail behind what was sent. */
  fail(error: unknown): void;
  /** Resolves when the call is over; never rejects. */
  ended: Promise<ScriptedEnding>;
}

/** A model upstream whose every step a test decides. Has the shape of a provider. */
export interface ScriptedProvider<Chunk, Generation, Call extends Abortable> {
  readonly id: string;
  generate(generation: Generation, call: Call): AsyncIterable<Chunk>;
  close(): Promise<void>;
  /** Every call so far, in order. */
  calls: ScriptedCall<Chunk, Generation, Call>[];
  /** Waits for the call with this index, from 0. */
  call(index: number, options?: WaitOptions): Promise<ScriptedCall<Chunk, Generation, Call>>;
}

/**
 * Makes a provider without a script: each call waits for the test to send, end or fail it, and rejects with the
 * signal's reason when it is aborted. The types are the caller's, so that this package depends on no provider.
 */
export function scriptedProvider<Chunk, Generation, Call extends Abortable>(
  id = 'scripted',
): ScriptedProvider<Chunk, Generation, Call> {
  const calls: ScriptedCall<Chunk, Generation, Call>[] = [];
  return {
    id,
    calls,
    generate(generation, call) {
      const { scripted, chunks } = startCall<Chunk, Generation, Call>(generation, call);
      calls.push(scripted);
      return chunks;
    },
    close: () => Promise.resolve(),
    call: (index, options) => eventually(() => calls[index], options),
  };
}

type Step<Chunk> = { kind: 'chunk'; chunk: Chunk } | { kind: 'end' } | { kind: 'fail'; error: unknown };

function startCall<Chunk, Generation, Call extends Abortable>(generation: Generation, call: Call) {
  const steps: Step<Chunk>[] = [];
  let wake: () => void = () => undefined;
  const ended = Promise.withResolvers<ScriptedEnding>();
  const add = (...added: Step<Chunk>[]) => {
    steps.push(...added);
    wake();
  };
  const scripted: ScriptedCall<Chunk, Generation, Call> = {
    generation,
    call,
    send: (...chunks) => add(...chunks.map((chunk) => ({ kind: 'chunk', chunk }) as const)),
    end: () => add({ kind: 'end' }),
    fail: (error) => add({ kind: 'fail', error }),
    ended: ended.promise,
  };
  async function* play(): AsyncGenerator<Chunk> {
    const { signal } = call;
    const onAbort = () => wake();
    signal.addEventListener('abort', onAbort, { once: true });
    let ending: ScriptedEnding = 'left';
    try {
      for (;;) {
        if (signal.aborted) {
          ending = 'aborted';
          throw signal.reason;
        }
        const step = steps.shift();
        if (!step) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          await promise;
        } else if (step.kind === 'chunk') {
          yield step.chunk;
        } else if (step.kind === 'end') {
          ending = 'finished';
          return;
        } else {
          ending = 'failed';
          throw step.error;
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      ended.resolve(ending);
    }
  }
  return { scripted, chunks: play() };
}
