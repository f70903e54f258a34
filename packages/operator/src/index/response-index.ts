import { ServiceError } from '@sluice/contract';
import type { FacetField, Facets, ResponseSearch } from '@sluice/contract/admin';
import {
  responseOfSubject,
  type ResponseStory,
  type RowCursor,
  type RowPage,
  subjectOfResponse,
} from '@sluice/journal';
import { pause } from '@sluice/runtime';
import type { IndexQuestion, IndexQuestions } from './messages.ts';
import { type Following, type Indexed, RunningIndex, unanswered } from './running-index.ts';

export type { IndexState, RowsNews } from './messages.ts';

export interface ResponseIndexOptions {
  /** The addresses of the cells, as REDIS_URL has them. Read at each start of its thread. */
  redisUrl: () => string;
  keyPrefix: string;
  /** Whether a journal is kept, and of how many responses. */
  settings: { journal: boolean; keep: number };
  onError: (error: unknown) => void;
  /** How long the thread stays when nobody asks or follows, in milliseconds; ten minutes by default. */
  idleMs?: number;
  /** How often the index compares itself with the store, in milliseconds; 10 s by default. */
  healEveryMs?: number;
  /** Heap of its thread besides its rows, in MiB; see `RunningIndex`. */
  heapMib?: number;
  /** For durations, in milliseconds; `performance.now` by default. */
  now?: () => number;
}

/** How long the thread rests after its first death, and at most, in milliseconds. Each death in a row doubles the rest. */
const firstRestMs = 1_000;
const longestRestMs = 60_000;

/** Fewest rows that are kept after deaths by memory. */
const leastKept = 1_000;

/** How long a question about all of the journal waits for the journal to be read, in milliseconds. */
const loadWithinMs = 15_000;
const lookEveryMs = 100;

/** Most followers of rows at a time: for each, all rows are counted four times a second. */
const mostFollowers = 100;

/** Ids of one page of `ids`. */
const idsPerPage = 500;

/**
 * The index over the responses of all tenants, in a thread of its own that is started by the first question and ends when
 * nobody has asked for a while. Nothing of it is kept elsewhere: the next thread reads the journal anew. A thread that died is
 * started again after a rest, and with half as many rows when it died of too little memory.
 *
 * Every question is answered, or refused with `server_is_overloaded` when the store has not answered yet, or the thread
 * does not answer in time.
 */
export class ResponseIndex {
  readonly #options: Required<Omit<ResponseIndexOptions, 'heapMib'>> & Pick<ResponseIndexOptions, 'heapMib'>;
  /** How many rows the next thread keeps. */
  #keep: number;
  /** Deaths in a row. */
  #deaths = 0;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #running: RunningIndex | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: ResponseIndexOptions) {
    this.#options = { idleMs: 600_000, healEveryMs: 10_000, now: () => performance.now(), ...options };
    this.#keep = options.settings.keep;
  }

  /** Whether there is a journal. Without one nothing may be asked. */
  get isKept(): boolean {
    return this.#options.settings.journal;
  }

  /** Whether its thread runs. */
  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** A page of the rows that match, newest first. */
  query(
    filter: ResponseSearch,
    { after, limit }: { after?: RowCursor | undefined; limit: number },
  ): Promise<Indexed<RowPage>> {
    return this.#ask('list', { filter, after, limit });
  }

  /** The values of each field, or of one. */
  facets(
    filter: ResponseSearch,
    { field, prefix }: { field?: FacetField | undefined; prefix?: string | undefined } = {},
  ): Promise<Indexed<Facets['fields']>> {
    return this.#ask('facets', { filter, field, prefix });
  }

  /** The story of one response as the journal tells it; undefined when the journal does not know the response. */
  async story(
    responseId: string,
    facts: IndexQuestions['story']['ask']['facts'],
  ): Promise<ResponseStory | undefined> {
    return (await this.#ask('story', { subject: subjectOfResponse(responseId), facts })).answer;
  }

  /** How many match. Waits until all of the journal is read, because an operator acts on the number. */
  async count(filter: ResponseSearch): Promise<number> {
    return this.#askOfAll('count', { filter });
  }

  /** The ids of those that match now, newest first, in pages of 500 at most. Later changes make no difference. */
  async *ids(filter: ResponseSearch): AsyncGenerator<string[]> {
    const found = await this.#askOfAll('ids', { filter });
    const subjects = found === '' ? [] : found.split(' ');
    for (let at = 0; at < subjects.length; at += idsPerPage) {
      yield subjects.slice(at, at + idsPerPage).map(responseOfSubject);
    }
  }

  /** @throws {ServiceError} when so many follow rows that another one would slow down all of them, or the thread rests. */
  requireRoom(): void {
    this.#requireAwake();
    if ((this.#running?.followers ?? 0) < mostFollowers) return;
    const message = `There are ${mostFollowers} already that follow the responses.`;
    throw new ServiceError('server_is_overloaded', message);
  }

  /**
   * Tells of rows that match and are new or have changed, four times a second at most, until the signal aborts. `onEnd` is
   * called when that ends before.
   */
  follow(filter: ResponseSearch, { signal, ...following }: Following & { signal: AbortSignal }): void {
    if (signal.aborted || this.#isStopped) return;
    if (this.#restMs > 0) {
      following.onEnd();
      return;
    }
    const leave = this.#run().follow(filter, following);
    signal.addEventListener('abort', leave, { once: true });
  }

  /** Has the next question start a thread anew, because the cells have changed. Those that follow are told that it has ended. */
  async restart(): Promise<void> {
    await this.#end();
  }

  /** Ends the thread. Questions that are under way are refused. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#end();
  }

  /** An answer that was made from all of the journal. */
  async #askOfAll<Kind extends 'count' | 'ids'>(
    kind: Kind,
    ask: IndexQuestions[Kind]['ask'],
  ): Promise<IndexQuestions[Kind]['answer']> {
    const giveUpAt = performance.now() + loadWithinMs;
    for (;;) {
      const { answer, index } = await this.#ask(kind, ask);
      if (index.state === 'ready') return answer;
      if (index.state !== 'loading' || performance.now() > giveUpAt) throw unanswered();
      await pause(lookEveryMs, new AbortController().signal);
    }
  }

  async #ask<Kind extends IndexQuestion>(
    kind: Kind,
    ask: IndexQuestions[Kind]['ask'],
  ): Promise<Indexed<IndexQuestions[Kind]['answer']>> {
    if (this.#isStopped || !this.isKept) throw unanswered();
    this.#requireAwake();
    const { answer, index } = await this.#run().ask(kind, ask);
    const isReduced = this.#keep < this.#options.settings.keep;
    return { answer, index: isReduced ? { ...index, is_reduced: true } : index };
  }

  #run(): RunningIndex {
    this.#running ??= this.#start();
    this.#awaitIdleness();
    return this.#running;
  }

  #start(): RunningIndex {
    const { redisUrl, keyPrefix, healEveryMs, heapMib, now } = this.#options;
    const startedAt = now();
    const running: RunningIndex = new RunningIndex({
      data: { redisUrl: redisUrl(), keyPrefix, keep: this.#keep, healEveryMs },
      heapMib,
      onError: (error) => this.#noteDeath(error, now() - startedAt),
      // A question starts another one, after its rest if it died.
      onExit: () => {
        if (this.#running === running) this.#running = undefined;
      },
    });
    return running;
  }

  #noteDeath(error: unknown, livedMs: number): void {
    const { now, onError } = this.#options;
    if (livedMs > longestRestMs) this.#deaths = 0;
    this.#restsUntil = now() + Math.min(longestRestMs, firstRestMs * 2 ** this.#deaths);
    this.#deaths += 1;
    if (isOutOfMemory(error)) this.#keep = Math.min(this.#keep, Math.max(leastKept, this.#keep >> 1));
    onError(error);
  }

  get #restMs(): number {
    return this.#running ? 0 : this.#restsUntil - this.#options.now();
  }

  #requireAwake(): void {
    const restMs = this.#restMs;
    if (restMs <= 0) return;
    const message = `The index of the journal has ended by an error, and starts again in ${Math.ceil(restMs / 1000)} s.`;
    throw new ServiceError('server_is_overloaded', message, { retryAfterMs: restMs });
  }

  #awaitIdleness(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#running?.isInUse) this.#awaitIdleness();
      else void this.#end();
    }, this.#options.idleMs);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const running = this.#running;
    this.#running = undefined;
    await running?.stop();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
