/** Where a waiting response stands. It may go back, because others overtake by right. */
export interface QueuePosition {
  /** 1 is next. */
  position: number;
  /** About how long until it starts, in milliseconds; undefined as long as nobody can tell. */
  startsInMs: number | undefined;
}

/** How often the departures of a queue are counted, in milliseconds. */
const sampleEveryMs = 1_000;

/** The pace of a queue is measured over the last ten seconds, in milliseconds, and over longer where too few left it. */
const pace = { overMs: 10_000, atLeast: 10, atMostMs: 300_000 };

/** A queue that nobody asks about is no longer looked at after this long, in milliseconds. */
const forgetAfterMs = 60_000;

/** Bounds of what somebody is told who found a queue full, in milliseconds. */
const roomMs = { least: 1_000, most: 10_000 };

/** How many had left a queue by when. */
interface Count {
  departures: number;
  at: number;
}

interface Watched {
  askedAt: number;
  latest: Count | undefined;
  /** The counts that were higher than the one before. */
  movements: Count[];
}

export interface QueuePositionsOptions {
  /** How many jobs are before the job of a response; undefined when it does not wait in its queue. */
  ahead: (queue: string, responseId: string) => Promise<number | undefined>;
  /** How many have left a queue so far; only what it grows by counts. */
  departures: (queue: string) => Promise<number>;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * Says how far waiting responses are from their start: by their place in the queue, and by how many left it of late, over
 * all workers. An api counts the departures from the queues that somebody has asked about of late.
 */
export class QueuePositions {
  readonly #options: QueuePositionsOptions;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: QueuePositionsOptions) {
    this.#options = options;
  }

  /** Begins to count the departures of a queue, or goes on with it. */
  watch(queue: string): void {
    const watched = this.#watched.get(queue);
    const askedAt = this.#options.now();
    if (watched) watched.askedAt = askedAt;
    else this.#watched.set(queue, { askedAt, latest: undefined, movements: [] });
    if (!this.#isStopped) this.#timer ??= setTimeout(() => void this.#tick(), watched ? sampleEveryMs : 0);
  }

  /** Where a response stands; undefined when it does not wait in its queue. Rejects when the store does not answer. */
  async of(queue: string, responseId: string): Promise<QueuePosition | undefined> {
    return this.at(queue, await this.#options.ahead(queue, responseId));
  }

  /** The same of a response that has so many before it. */
  at(queue: string, ahead: number | undefined): QueuePosition | undefined {
    this.watch(queue);
    if (ahead === undefined) return undefined;
    const perMs = this.#departuresPerMs(queue);
    return { position: ahead + 1, startsInMs: perMs === undefined ? undefined : (ahead + 1) / perMs };
  }

  /**
   * How long somebody should stay away who found the queue full, in milliseconds: until about one has left it. Longer when
   * nothing leaves it, or nobody can tell.
   */
  untilRoomMs(queue: string): number {
    this.watch(queue);
    const perMs = this.#departuresPerMs(queue);
    const oneMs = perMs === undefined ? roomMs.most : 1 / perMs;
    return Math.min(Math.max(oneMs, roomMs.least), roomMs.most);
  }

  /** Where a response stands, where nobody should fail for want of it. */
  async ofIfKnown(queue: string, responseId: string): Promise<QueuePosition | undefined> {
    try {
      return await this.of(queue, responseId);
    } catch {
      return undefined;
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /**
   * Undefined until something has left twice. What left first fills the slots that were free, and nobody knows since when it
   * could have left, so the pace begins with what left after it.
   */
  #departuresPerMs(queue: string): number | undefined {
    const { movements = [], latest } = this.#watched.get(queue) ?? {};
    const first = movements[0];
    const last = movements.at(-1);
    if (!first || !last || !latest || last === first) return undefined;
    // A pause in which nothing leaves counts once it is longer than one response takes.
    const idleMs = Math.max(0, latest.at - last.at - msForEach(first, last));
    return (last.departures - first.departures) / (last.at - first.at + idleMs);
  }

  async #tick(): Promise<void> {
    await Promise.all([...this.#watched.keys()].map((queue) => this.#sample(queue)));
    this.#timer = undefined;
    if (this.#watched.size === 0 || this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#tick(), sampleEveryMs);
    this.#timer.unref();
  }

  async #sample(queue: string): Promise<void> {
    const { departures, now } = this.#options;
    const watched = this.#watched.get(queue);
    if (!watched) return;
    if (now() - watched.askedAt > forgetAfterMs) {
      this.#watched.delete(queue);
      return;
    }
    try {
      note(watched, { departures: await departures(queue), at: now() });
    } catch {
      // The next count spans the gap.
    }
  }
}

function msForEach(first: Count, last: Count): number {
  return (last.at - first.at) / (last.departures - first.departures);
}

function note(watched: Watched, count: Count): void {
  const before = watched.latest;
  watched.latest = count;
  if (before && count.departures < before.departures) watched.movements = []; // The store has lost its count.
  if (!before || count.departures <= before.departures) return;
  if (stoodStill(watched.movements, count)) watched.movements = [];
  const { movements } = watched;
  movements.push(count);
  const isEnough = (since: Count) =>
    count.at - since.at >= pace.overMs && count.departures - since.departures >= pace.atLeast;
  while (movements[1] && isEnough(movements[1])) movements.shift();
  while (movements[0] && count.at - movements[0].at > pace.atMostMs) movements.shift();
}

/** Whether nothing left for so much longer than before that what leaves now begins anew: the time between is not its pace. */
function stoodStill(movements: readonly Count[], count: Count): boolean {
  const first = movements[0];
  const last = movements.at(-1);
  if (!first || !last || first === last) return false;
  return count.at - last.at >= Math.max(pace.overMs, 10 * msForEach(first, last));
}
