import {
  type JournalReader,
  parseEntry,
  queueOfSubject,
  type RowBefore,
  type IndexedRow,
  RowTable,
  takeEntry,
  type StoredEntry,
} from '@sluice/journal';
import type { IndexState } from './messages.ts';
import { QueuePauses } from './queue-pauses.ts';
import { type Healed, RowHealer } from './row-healer.ts';

/** Entries of one read: half a millisecond of Redis, and as much as there is room for when all are as long as they may be. */
const pageSize = 500;

/** How often the end of the journal is read, in milliseconds. */
const followEveryMs = 250;

/** A timer may fire so much too early, in milliseconds. */
const slackMs = 20;

/** Reads in a row when more has come than one takes. */
const mostReads = 80;

export interface JournalIndexOptions {
  reader: Pick<JournalReader, 'length' | 'before' | 'after'>;
  store: Healed;
  keep: number;
  healEveryMs: number;
  onChange?: (row: IndexedRow, before: RowBefore) => void;
  /** Called after each look at the journal. */
  onLook?: () => void;
}

/**
 * The rows that the journal tells of. It reads the journal from its end backwards, so that the newest rows are there first, and
 * follows new entries at the same time.
 *
 * While the store does not answer it keeps what it has, says so, and goes on where it was.
 */
export class JournalIndex {
  readonly table: RowTable;
  readonly pauses = new QueuePauses();
  readonly #options: JournalIndexOptions;
  readonly #healer: RowHealer;
  /** The first entry that was read backwards; undefined before the first. */
  #oldest: string | undefined;
  /** The last entry that was read forwards. */
  #newest: string | undefined;
  #entries = 0;
  #length = 0;
  #isLoaded = false;
  #isAway = false;
  #isLooking = false;
  #followedAt = performance.now();
  #healedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: JournalIndexOptions) {
    this.#options = options;
    const { keep, onChange, store } = options;
    this.table = new RowTable({ keep, ...(onChange && { onChange }) });
    this.#healer = new RowHealer({ store, table: this.table });
  }

  get state(): IndexState {
    const share = this.#length === 0 ? 1 : Math.min(1, this.#entries / this.#length);
    const kept = this.table.size / this.#options.keep;
    const percent = this.#isLoaded ? 100 : Math.min(99, Math.floor(Math.max(share, kept) * 100));
    const state = this.#isAway ? 'unavailable' : this.#isLoaded ? 'ready' : 'loading';
    return { state, loaded_percent: this.#newest === undefined ? 0 : percent, size: this.table.size };
  }

  /** Whether anything of the journal has been read, if only that it is empty. */
  get hasBegun(): boolean {
    return this.#newest !== undefined;
  }

  /** Begins to read. Resolves when the newest page is there, or the store does not answer. */
  async start(): Promise<void> {
    await this.#lookOnce();
    this.#schedule();
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    // While it loads, a pause as short as lets this thread answer.
    const delayMs = this.#isLoaded || this.#isAway ? followEveryMs : 0;
    this.#timer = setTimeout(() => {
      this.#looking = this.#lookOnce().then(() => this.#schedule());
    }, delayMs);
  }

  async #lookOnce(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
      this.#isAway = false;
    } catch {
      // The next look goes on from here. The process itself says when the store is away.
      this.#isAway = true;
    } finally {
      this.#isLooking = false;
      this.#options.onLook?.();
    }
  }

  async #look(): Promise<void> {
    const { reader, healEveryMs } = this.#options;
    if (this.#newest === undefined) {
      this.#length = await reader.length();
      const page = await reader.before(undefined, pageSize);
      this.#newest = page[0]?.id ?? '0-0';
      this.#takeBackwards(page);
      return;
    }
    if (performance.now() - this.#followedAt >= followEveryMs - slackMs) {
      this.#followedAt = performance.now();
      await this.#follow(this.#newest);
    }
    if (!this.#isLoaded) {
      this.#takeBackwards(await reader.before(this.#oldest, pageSize));
      return;
    }
    if (performance.now() - this.#healedAt < healEveryMs) return;
    await this.#healer.round();
    this.#healedAt = performance.now();
  }

  async #follow(from: string): Promise<void> {
    let last = from;
    for (let read = 0; read < mostReads; read += 1) {
      const page = await this.#options.reader.after(last, pageSize);
      for (const entry of page) this.#take(entry);
      last = page.at(-1)?.id ?? last;
      this.#newest = last;
      if (page.length < pageSize) return;
    }
  }

  #takeBackwards(page: readonly StoredEntry[]): void {
    for (const entry of page) this.#take(entry);
    this.#entries += page.length;
    this.#oldest = page.at(-1)?.id ?? this.#oldest;
    if (page.length === pageSize && !this.table.isFull) return;
    this.#isLoaded = true;
    // The rows that claim to be open are looked at soon: some of them are those of a process that died.
    this.#healedAt = Number.NEGATIVE_INFINITY;
  }

  #take({ text }: StoredEntry): void {
    const entry = parseEntry(text);
    if (!entry) return;
    const queue = queueOfSubject(entry.subject);
    if (queue === undefined) this.table.change(entry.subject, (row) => takeEntry(row, entry, text));
    else this.pauses.take(queue, entry.lines);
  }
}
