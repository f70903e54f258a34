/** Where a waiting response stands. It may go back, because others overtake by right. */
export interface QueuePosition {
  /** 1 is next. */
  position: number;
  /** About how long until it starts, in milliseconds; undefined as long as nobody can tell. */
  startsInMs: number | undefined;
}

/** How often the departures of a queue are counted, in milliseconds. */
const sampleEveryMs = 1_000;

/** Departures over so many samples make the rate: the last ten seconds. */
const mostSamples = 11;

/** A queue that nobody asks about is no longer looked at after this long, in milliseconds. */
const forgetAfterMs = 60_000;

/** Bounds of what somebody is told who found a queue full, in milliseconds. */
const roomMs = { least: 1_000, most: 10_000 };

interface Sample {
  departures: number;
  at: number;
}

export interface QueuePositionsOptions {
  /** How many jobs are before that of a response; undefined when it does not wait in its queue. */
  ahead: (queue: string, responseId: string) => Promise<number | undefined>;
  /** How many have left a queue so far; only what it grows by counts. */
  departures: (queue: string) => Promise<number>;
  /** For durations, in milliseconds. */
  now: () => number;
}

/**
 * Says how far waiting responses are from their start: by their place in the queue, and by how many left it in the last
 * seconds, over all workers. An api counts the departures from the queues that somebody has asked about of late.
 */
export class QueuePositions {
  readonly #options: QueuePositionsOptions;
  readonly #watched = new Map<string, { samples: Sample[]; askedAt: number }>();
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
    else this.#watched.set(queue, { samples: [], askedAt });
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

  /** Undefined while there are too few samples, or nothing left. */
  #departuresPerMs(queue: string): number | undefined {
    const samples = this.#watched.get(queue)?.samples ?? [];
    // Before it began nothing left the queue: that is not its pace.
    const began = samples.findIndex((each, at) => each.departures < (samples[at + 1]?.departures ?? 0));
    const first = samples[began];
    const last = samples.at(-1);
    if (!first || !last || last.departures <= first.departures) return undefined;
    return (last.departures - first.departures) / (last.at - first.at);
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
      const sample = { departures: await departures(queue), at: now() };
      // The store has lost its count.
      if (sample.departures < (watched.samples.at(-1)?.departures ?? 0)) watched.samples = [];
      watched.samples.push(sample);
      if (watched.samples.length > mostSamples) watched.samples.shift();
    } catch {
      // The next sample spans the gap.
    }
  }
}
