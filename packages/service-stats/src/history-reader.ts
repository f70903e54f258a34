import { type Figures, figuresOf, noFigures } from './figures.ts';
import { type HistorySpan, historySpans } from './history-spans.ts';
import { historyKey } from './keys.ts';
import { fieldOf } from './minute-sums.ts';
import type { StatsReaderOptions } from './stats-reader.ts';
import { parseSums } from './sums.ts';

/** A reading serves everybody who asks within this time, in milliseconds. */
const freshMs = 10_000;

export interface HistoryReading {
  /** The moment of the reading, by the store's clock. */
  at: number;
  spanMs: number;
  /** Oldest first, without gaps; the last is the present one. */
  spans: { at: number; figures: Figures }[];
}

/** Reads the sums of the last day or week. A reading costs one command for each hour or day, and serves everybody for a while. */
export class HistoryReader {
  readonly #options: StatsReaderOptions;
  readonly #readings = new Map<HistorySpan, { at: number; reading: Promise<HistoryReading> }>();

  constructor(options: StatsReaderOptions) {
    this.#options = options;
  }

  /** Rejects while Redis does not answer. */
  read(name: HistorySpan): Promise<HistoryReading> {
    const now = this.#options.now();
    const known = this.#readings.get(name);
    if (known && now - known.at < freshMs) return known.reading;
    const reading = this.#read(name, now);
    this.#readings.set(name, { at: now, reading });
    reading.catch(() => this.#readings.delete(name));
    return reading;
  }

  async #read(name: HistorySpan, now: number): Promise<HistoryReading> {
    const { connection, keyPrefix } = this.#options;
    const { lengthMs, spanMs, hashMs } = historySpans.find((each) => each.name === name) ?? historySpans[0];
    const last = Math.floor(now / spanMs) * spanMs;
    const first = last - lengthMs + spanMs;
    const found = new Map<number, Figures>();
    for (let begin = Math.floor(first / hashMs) * hashMs; begin <= now; begin += hashMs) {
      const hash = await connection.hgetall(historyKey(keyPrefix, name, begin));
      for (const [field, text] of Object.entries(hash)) {
        if (!field.startsWith(fieldOf.span)) continue;
        const at = begin + Number(field.slice(fieldOf.span.length)) * spanMs;
        found.set(at, figuresOf(parseSums(text) ?? {}));
      }
    }
    const spans: HistoryReading['spans'] = [];
    for (let at = first; at <= last; at += spanMs) spans.push({ at, figures: found.get(at) ?? noFigures });
    return { at: now, spanMs, spans };
  }
}
