import type { Bucket, Overview } from '@sluice/contract/admin';
import type { OverviewReader } from './overview-reader.ts';

/** The pause between two readings for watchers, in milliseconds. */
const everyMs = 2_000;

/** A reading takes a tenth of the time at the most, however much there is to read. */
const pausePerReading = 10;

/** A reading that is younger is not made again, in milliseconds. */
const freshMs = 1_000;

/** When nobody has looked for this long, the reader forgets what it remembers, in milliseconds. */
const forgetAfterMs = 60_000;

/** One who watches the overview. */
export interface OverviewWatcher {
  /** Called with the whole overview, but only those buckets that have changed since the last call. */
  changed(overview: Overview): void;
  /** Called when the overview could not be read this time. */
  failed(error: unknown): void;
}

/** The overview for everybody who looks: however many they are it is read once for all of them, and not at all for nobody. */
export class OverviewFeed {
  readonly #reader: Pick<OverviewReader, 'read' | 'forget'>;
  readonly #watchers = new Set<OverviewWatcher>();
  #reading: Promise<Overview> | undefined;
  #latest: { overview: Overview; readAt: number } | undefined;
  /** The buckets as watchers know them. */
  #told = new Map<number, string>();
  #next: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(reader: Pick<OverviewReader, 'read' | 'forget'>) {
    this.#reader = reader;
  }

  /** The overview as of the last second. Rejects while Redis does not answer. */
  async latest(): Promise<Overview> {
    this.#stayAwake();
    const known = this.#latest;
    if (known && performance.now() - known.readAt < freshMs) return known.overview;
    return this.#read();
  }

  /** Tells of what has changed since `latest`, and of each reading from then on, until the returned function is called. */
  watch(watcher: OverviewWatcher): () => void {
    // Earlier watchers may know less.
    if (this.#watchers.size === 0 && this.#latest) this.#changedOf(this.#latest.overview.buckets);
    this.#watchers.add(watcher);
    if (this.#next === undefined) this.#plan(everyMs);
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size > 0) return;
      clearTimeout(this.#next);
      this.#next = undefined;
    };
  }

  /** Nothing is read on its own any more. Twice is fine. */
  stop(): void {
    this.#isStopped = true;
    this.#watchers.clear();
    clearTimeout(this.#next);
    clearTimeout(this.#idle);
  }

  #read(): Promise<Overview> {
    this.#reading ??= this.#reader
      .read()
      .then((overview) => {
        this.#latest = { overview, readAt: performance.now() };
        return overview;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  #plan(afterMs: number): void {
    if (this.#isStopped) return;
    this.#next = setTimeout(() => void this.#tell(), afterMs);
  }

  async #tell(): Promise<void> {
    this.#stayAwake();
    const begunAt = performance.now();
    try {
      const overview = await this.#read();
      const changed = { ...overview, buckets: this.#changedOf(overview.buckets) };
      for (const watcher of this.#watchers) watcher.changed(changed);
    } catch (error) {
      for (const watcher of this.#watchers) watcher.failed(error);
    }
    this.#next = undefined;
    const tookMs = performance.now() - begunAt;
    if (this.#watchers.size > 0) this.#plan(Math.max(everyMs, tookMs * pausePerReading));
  }

  #changedOf(buckets: readonly Bucket[]): Bucket[] {
    const now = new Map(buckets.map((bucket) => [bucket.at, JSON.stringify(bucket)]));
    const changed = buckets.filter(({ at }) => now.get(at) !== this.#told.get(at));
    this.#told = now;
    return changed;
  }

  #stayAwake(): void {
    clearTimeout(this.#idle);
    if (this.#isStopped) return;
    this.#idle = setTimeout(() => {
      this.#latest = undefined;
      this.#told = new Map();
      this.#reader.forget();
    }, forgetAfterMs);
  }
}
