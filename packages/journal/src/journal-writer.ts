import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { type JournalLine, printEntry } from './journal-line.ts';

export interface JournalWriterOptions {
  connection: Pick<Redis, 'eval'>;
  /** Prefix of the cell that holds the journal. */
  keyPrefix: string;
  /** How many responses are kept. */
  keep: number;
  /** How long lines are gathered, in milliseconds; 100 by default. */
  gatherMs?: number;
  /** Most subjects that wait to be written; 5,000 by default. */
  mostWaiting?: number;
  /** Told why lines were dropped. */
  onDropped?: (error: unknown, entries: number) => void;
}

/** Entries for each response that is kept: its accept, its claim, its first output and its end, when all are far apart. */
export const entriesPerResponse = 4;

/** Entries of one call. After a silence, so many keep Redis from everybody else for some three milliseconds. */
const pageSize = 500;

/** The journal is cut after so many entries, and by the first call of a process. */
const cutEvery = 1_000;

const script = readFileSync(new URL('../src/write-entries.lua', import.meta.url), 'utf8');

/** Lines of one subject in one entry. */
const mostLines = 32;

/** The stream that holds the journal of a cell: the events of its responses, oldest first. */
export function journalKey(keyPrefix: string): string {
  return `${keyPrefix}journal`;
}

/**
 * Writes the journal in the background: `write` returns at once, and nothing waits for the store. Lines about one subject
 * within a moment become one entry.
 *
 * While the store is silent, slow or full, the lines of a bounded number of subjects wait, and further ones are dropped and
 * counted. Nothing is sent twice. Lines that a process had not written when it died are lost; the index makes up for them.
 */
export class JournalWriter {
  readonly #options: Required<Omit<JournalWriterOptions, 'onDropped'>>;
  readonly #onDropped: (error: unknown, entries: number) => void;
  readonly #waiting = new Map<string, JournalLine[]>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #untilCut = 0;
  #isStopping = false;

  constructor({ onDropped = () => undefined, ...options }: JournalWriterOptions) {
    this.#options = { gatherMs: 100, mostWaiting: 5_000, ...options };
    this.#onDropped = onDropped;
  }

  /** Lines and entries that were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  write(subject: string, line: JournalLine): void {
    const lines = this.#waiting.get(subject);
    if (lines ? lines.length >= mostLines : this.#waiting.size >= this.#options.mostWaiting) {
      this.#drop(new Error('too much waits to be written'), 1);
      return;
    }
    if (lines) lines.push(line);
    else this.#waiting.set(subject, [line]);
    if (!this.#sending) this.#timer ??= setTimeout(() => this.#send(), this.#options.gatherMs);
  }

  /** Takes back the last line of this kind and all behind it, if it has not gone yet. */
  takeBack(subject: string, what: JournalLine['what']): boolean {
    const lines = this.#waiting.get(subject);
    const at = lines?.findLastIndex((line) => line.what === what) ?? -1;
    if (!lines || at < 0) return false;
    lines.length = at;
    if (at === 0) this.#waiting.delete(subject);
    return true;
  }

  /** Writes the lines that wait. Those that the store does not take at once are dropped. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    while (this.#sending || this.#waiting.size > 0) {
      if (!this.#sending) this.#send();
      await this.#sending;
    }
    clearTimeout(this.#timer);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size === 0) return;
    this.#sending = this.#sendPage().finally(() => {
      this.#sending = undefined;
      // Entries that came meanwhile have been gathered for as long as the write took.
      if (this.#waiting.size > 0) this.#timer ??= setTimeout(() => this.#send(), this.#options.gatherMs);
    });
  }

  async #sendPage(): Promise<void> {
    const { connection, keyPrefix, keep } = this.#options;
    const texts: string[] = [];
    for (const [subject, lines] of this.#waiting) {
      texts.push(printEntry({ subject, lines }));
      this.#waiting.delete(subject);
      if (texts.length === pageSize) break;
    }
    this.#untilCut -= texts.length;
    const most = this.#untilCut <= 0 ? keep * entriesPerResponse : '';
    if (most !== '') this.#untilCut = cutEvery;
    try {
      await connection.eval(script, 1, journalKey(keyPrefix), most, ...texts);
    } catch (error) {
      let entries = texts.length;
      if (this.#isStopping) {
        entries += this.#waiting.size;
        this.#waiting.clear();
      }
      this.#drop(error, entries);
    }
  }

  #drop(error: unknown, entries: number): void {
    this.#dropped += entries;
    this.#onDropped(error, entries);
  }
}
