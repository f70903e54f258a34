import { eventually, type WaitOptions } from './wait-until.ts';

/** How a call ended, from the provider's side. */
export type ScriptedEnding =
  | 'finished' // the test ended it, and the caller took everything
  | 'failed' // the test made it fail
  | 'aborted' // its signal was aborted
  | 'left'; // the caller broke out of the iteration

/** The part of a call that this file uses. */
interface Abortable {
  signal: AbortSignal;
}

/** One call of a model, controlled by a test. */
export interface ScriptedCall<Chunk, Generation, Call extends Abortable> {
  generation: Generation;
  call: Call;
  /** Sends chunks, in order. They wait until the caller takes them. */
  send(...chunks: Chunk[]): void;
  /** Ends the stream after the chunks that were sent. */
  end(): void;
  /** Sends its last chunks, and ends the stream. */
  answer(...chunks: Chunk[]): void;
  /** Makes the stream fail after the chunks that were sent. */
  fail(error: unknown): void;
  /** Resolves when the call is over. Never rejects. */
  ended: Promise<ScriptedEnding>;
}

/** An upstream in the shape of a provider. The test decides each of its steps. */
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
 * Makes a scripted provider. Each call waits for the test to send chunks and to end it or make it fail. It rejects with
 * the reason of its signal when that is aborted. The types are parameters, so that this package depends on no provider.
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

function stepsOf<Chunk>(chunks: Chunk[]): Step<Chunk>[] {
  return chunks.map((chunk) => ({ kind: 'chunk', chunk }));
}

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
    send: (...chunks) => add(...stepsOf(chunks)),
    end: () => add({ kind: 'end' }),
    answer: (...chunks) => add(...stepsOf(chunks), { kind: 'end' }),
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
