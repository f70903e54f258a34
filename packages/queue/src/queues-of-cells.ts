import type { ResponseQueue } from './response-queue.ts';

/** Everything that others use of the queues: those of one cell of the store, or those of several as one. */
export type ResponseQueues = Pick<ResponseQueue, keyof ResponseQueue>;

/** The queues of each cell, the first one first. Cells may come and go. */
type QueuesByCell = () => readonly [ResponseQueue, ...ResponseQueue[]];

export interface CellsOfQueues {
  all: QueuesByCell;
  /** Those that have something; all by default. */
  asked?: QueuesByCell;
  /** The queues of the cell of a response. */
  of: (responseId: string) => ResponseQueue;
}

/**
 * The queues of several cells as one. The job of a response is in its cell, and a queue is as long as those of its name in all cells.
 */
export function queuesOfCells({ all, asked = all, of }: CellsOfQueues): ResponseQueues {
  const tell = async (order: (queue: ResponseQueue) => Promise<void>) => {
    await Promise.all(asked().map(order));
  };
  return {
    ...figuresOfCells(asked),
    get names() {
      return all()[0].names;
    },
    setNames: (names) => {
      for (const queue of all()) queue.setNames(names);
    },
    enqueue: (name, id, priority) => of(id).enqueue(name, id, priority),
    enqueueAgain: (name, id, priority) => of(id).enqueueAgain(name, id, priority),
    defer: (name, id) => of(id).defer(name, id),
    letIn: (name, id, priority) => of(id).letIn(name, id, priority),
    letInAll: (deferred) => {
      for (const job of deferred) of(job.responseId).letInAll([job]);
    },
    isDeferred: (name, id) => of(id).isDeferred(name, id),
    remove: (name, id) => of(id).remove(name, id),
    isPending: (name, id) => of(id).isPending(name, id),
    mistimed: (name, id, now) => of(id).mistimed(name, id, now),
    ahead: (name, id) => of(id).ahead(name, id),
    order: (name, id = '') => of(id).order(name, id),
    limitConcurrency: (name, concurrency) => tell((queue) => queue.limitConcurrency(name, concurrency)),
    isEmpty: async (name) => (await Promise.all(asked().map((queue) => queue.isEmpty(name)))).every(Boolean),
    pause: (name) => tell((queue) => queue.pause(name)),
    resume: (name) => tell((queue) => queue.resume(name)),
    pausedNames: async () => [
      ...new Set((await Promise.all(asked().map((queue) => queue.pausedNames()))).flat()),
    ],
    forDashboard: () => all().flatMap((queue) => queue.forDashboard()),
    close: async () => {
      await Promise.all(all().map((queue) => queue.close()));
    },
  };
}

type Figures = Pick<ResponseQueue, 'departures' | 'counts' | 'backlog' | 'depth' | 'room' | 'waitingIds'>;

/** What can be read of queues, over the cells that answer: one that is away runs nothing, and hides nothing of the others. */
function figuresOfCells(all: QueuesByCell): Figures {
  const askEach = async <Answer>(question: (queue: ResponseQueue) => Promise<Answer>) => {
    const answers = await Promise.allSettled(all().map(question));
    const there = answers.filter((answer) => answer.status === 'fulfilled').map(({ value }) => value);
    const away = answers.find((answer) => answer.status === 'rejected');
    if (there.length === 0 && away) throw away.reason;
    return { there, away };
  };
  const ask = async <Answer>(question: (queue: ResponseQueue) => Promise<Answer>) =>
    (await askEach(question)).there;
  const growth = new Growth();
  return {
    departures: (name) =>
      growth.of(name, () => ask(async (queue) => ({ queue, count: await queue.departures(name) }))),
    counts: async (name) => {
      const counts = await ask((queue) => queue.counts(name));
      return {
        waiting: sum(counts, ({ waiting }) => waiting),
        active: sum(counts, ({ active }) => active),
        delayed: sum(counts, ({ delayed }) => delayed),
        completed: sum(counts, ({ completed }) => completed),
        failed: sum(counts, ({ failed }) => failed),
        paused: sum(counts, ({ paused }) => paused),
      };
    },
    backlog: async (name) => {
      const backlogs = await ask((queue) => queue.backlog(name));
      const waits = backlogs.flatMap(({ oldestWaitMs }) => oldestWaitMs ?? []);
      return {
        ...jobsOf(backlogs),
        oldestWaitMs: waits.length === 0 ? undefined : Math.max(...waits),
      };
    },
    depth: async (name) => {
      const depths = await ask((queue) => queue.depth(name));
      const oldest = (which: 'oldest' | 'oldestReady') =>
        depths
          .flatMap((depth) => depth[which] ?? [])
          .toSorted((one, other) => one.addedAt - other.addedAt)[0];
      return { ...jobsOf(depths), oldest: oldest('oldest'), oldestReady: oldest('oldestReady') };
    },
    room: async (name) => {
      const rooms = await ask((queue) => queue.room(name));
      return {
        waiting: sum(rooms, ({ waiting }) => waiting),
        isPaused: rooms.some(({ isPaused }) => isPaused),
        hasRoom: rooms.some(({ hasRoom }) => hasRoom),
      };
    },
    waitingIds: async (name, { waitsFor, first, count }) => {
      const { there, away } = await askEach((queue) =>
        queue.waitingIds(name, { waitsFor, first: 0, count: first + count }),
      );
      const ids = there.flat().slice(first, first + count);
      // Nobody knows whether these are all.
      if (ids.length === 0 && away) throw away.reason;
      return ids;
    },
  };
}

/** By how much the counts of all cells have grown. A cell that is away, or seen for the first time, adds nothing, and its next count adds what it missed. */
class Growth {
  readonly #last = new WeakMap<ResponseQueue, Map<string, number>>();
  readonly #grown = new Map<string, number>();

  /** The growth of the count of this name. Rejects as `read` does. */
  async of(
    name: string,
    read: () => Promise<readonly { queue: ResponseQueue; count: number }[]>,
  ): Promise<number> {
    for (const { queue, count } of await read()) {
      const last = this.#last.get(queue) ?? new Map<string, number>();
      this.#last.set(queue, last);
      this.#grown.set(name, (this.#grown.get(name) ?? 0) + count - (last.get(name) ?? count));
      last.set(name, count);
    }
    return this.#grown.get(name) ?? 0;
  }
}

interface Jobs {
  waiting: number;
  active: number;
  isPaused: boolean;
}

function jobsOf(cells: readonly Jobs[]): Jobs {
  return {
    waiting: sum(cells, ({ waiting }) => waiting),
    active: sum(cells, ({ active }) => active),
    isPaused: cells.some(({ isPaused }) => isPaused),
  };
}

function sum<Each>(all: readonly Each[], of: (each: Each) => number): number {
  return all.reduce((total, each) => total + of(each), 0);
}
