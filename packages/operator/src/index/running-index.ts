import { ServiceError } from '@sluice/contract';
import type { ResponseSearch } from '@sluice/contract/admin';
import { bytesPerRow } from '@sluice/journal';
import { startThread } from '@sluice/runtime';
import type { Worker } from 'node:worker_threads';
import type {
  FromIndex,
  IndexQuestion,
  IndexQuestions,
  IndexState,
  IndexThreadData,
  RowsNews,
  ToIndex,
} from './messages.ts';

/** An answer together with how much of the journal it was made from. */
export type Indexed<Answer> = { answer: Answer; index: IndexState };

/** How a follower of rows is told of them. */
export interface Following {
  onNews: (news: RowsNews) => void;
  /** Called when the thread has ended. */
  onEnd: () => void;
}

/** How long an answer may take, in milliseconds; the first one waits for the thread and its connection. */
const answerWithinMs = 2_000;
const firstAnswerWithinMs = 10_000;

/** How long the thread may take to stop, in milliseconds. */
const stopWithinMs = 2_000;

const mebibyte = 1024 * 1024;

/** Heap of the thread besides its rows, and for each row in bytes: twice what it may hold, so that there is room to collect. */
const ownHeapMib = 96;
const heapPerRow = 2 * bytesPerRow;

interface Asked {
  resolve: (answer: Indexed<unknown>) => void;
  reject: (error: unknown) => void;
  timer: NodeJS.Timeout;
}

export interface RunningIndexOptions {
  data: IndexThreadData;
  /** Heap of the thread besides its rows; 96 MiB by default. */
  heapMib?: number | undefined;
  onError: (error: unknown) => void;
  /** Called once the thread has ended, for whatever reason. */
  onExit: () => void;
}

/** One thread that keeps an index, with its open questions and its followers. */
export class RunningIndex {
  readonly #worker: Worker;
  readonly #asked = new Map<number, Asked>();
  readonly #following = new Map<number, Following>();
  #hasAnswered = false;
  #number = 0;

  constructor({ data, heapMib = ownHeapMib, onError, onExit }: RunningIndexOptions) {
    this.#worker = startThread(new URL('./index-thread.ts', import.meta.url), {
      name: 'index',
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: heapMib + Math.ceil((data.keep * heapPerRow) / mebibyte) },
    });
    this.#worker.on('message', (message: FromIndex) => this.#hear(message));
    this.#worker.on('error', onError);
    this.#worker.on('exit', () => {
      onExit();
      this.#refuseAll();
    });
  }

  /** How many follow rows. */
  get followers(): number {
    return this.#following.size;
  }

  /** Whether somebody waits for an answer, or follows rows. */
  get isInUse(): boolean {
    return this.#asked.size > 0 || this.#following.size > 0;
  }

  /** Rejects with `server_is_overloaded` when there is no answer in time. */
  ask<Kind extends IndexQuestion>(
    kind: Kind,
    ask: IndexQuestions[Kind]['ask'],
  ): Promise<Indexed<IndexQuestions[Kind]['answer']>> {
    const number = this.#nextNumber();
    const { promise, resolve, reject } = Promise.withResolvers<Indexed<unknown>>();
    const withinMs = this.#hasAnswered ? answerWithinMs : firstAnswerWithinMs;
    const timer = setTimeout(() => {
      this.#asked.delete(number);
      reject(unanswered());
    }, withinMs);
    this.#asked.set(number, { resolve, reject, timer });
    // The kind and its question belong together.
    this.#tell({ kind, number, ...ask } as unknown as ToIndex);
    // The thread answers a question with its kind of answer.
    return promise as Promise<Indexed<IndexQuestions[Kind]['answer']>>;
  }

  /** Tells of rows until the function that it returns is called. */
  follow(filter: ResponseSearch, following: Following): () => void {
    const number = this.#nextNumber();
    this.#following.set(number, following);
    this.#tell({ kind: 'follow', number, filter });
    return () => {
      if (this.#following.delete(number)) this.#tell({ kind: 'unfollow', number });
    };
  }

  /** Resolves when the thread has ended. */
  async stop(): Promise<void> {
    // A thread may die by an error before that, which is no reason for this to fail.
    const ended = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    this.#tell({ kind: 'stop' });
    const timer = setTimeout(() => void this.#worker.terminate(), stopWithinMs);
    await ended;
    clearTimeout(timer);
  }

  #hear(message: FromIndex): void {
    if (message.kind === 'news') {
      this.#following.get(message.number)?.onNews(message.news);
      return;
    }
    const asked = this.#asked.get(message.number);
    if (!asked) return;
    this.#asked.delete(message.number);
    clearTimeout(asked.timer);
    this.#hasAnswered = true;
    if (message.kind === 'no_answer') asked.reject(unanswered());
    else asked.resolve({ answer: message.value, index: message.state });
  }

  #refuseAll(): void {
    for (const { reject, timer } of this.#asked.values()) {
      clearTimeout(timer);
      reject(unanswered());
    }
    this.#asked.clear();
    const following = [...this.#following.values()];
    this.#following.clear();
    for (const { onEnd } of following) onEnd();
  }

  #tell(message: ToIndex): void {
    this.#worker.postMessage(message);
  }

  #nextNumber(): number {
    this.#number += 1;
    return this.#number;
  }
}

export function unanswered(): ServiceError {
  return new ServiceError('server_is_overloaded', 'The journal cannot be read at the moment.');
}
