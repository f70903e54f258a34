import { setImmediate as breathe } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { type Figures, figuresOf, noFigures } from './figures.ts';
import { minuteKey } from './keys.ts';
import { fieldOf, minuteMs, spanMs } from './minute-sums.ts';
import { addAll, parseSums, type Sums } from './sums.ts';

/** Minutes of a reading, the present one included. */
const wholeReading = 60;

/** How long after its end a minute usually still grows, in milliseconds. */
const settledAfterMs = 30_000;

/** When to read a settled minute again, in milliseconds: a process may have added to it late. */
const readAgainMs = 60_000;

/** Minutes that are read, or added up, in one turn of the event loop. */
const step = 2;

export interface StatsReading {
  /** The moment of the reading, by the store's clock. */
  at: number;
  /** Spans of ten seconds, oldest first, without gaps. The first begins with a minute; the last is the present one. */
  spans: { at: number; figures: Figures }[];
  total: Figures;
  /** By name, without the rest. */
  models: Map<string, Figures>;
  tenants: Map<string, Figures>;
  /** Error codes of failed responses. */
  codes: Map<string, number>;
}

export interface StatsReaderOptions {
  connection: Pick<Redis, 'hgetall'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** The store's clock, in milliseconds. */
  now: () => number;
}

/** Sums of a time, by kind. */
interface SumsOfTime {
  total: Sums;
  models: Map<string, Sums>;
  tenants: Map<string, Sums>;
  codes: Map<string, Sums>;
}

interface Minute {
  /** Figures of its spans, by when they begin. */
  spans: ReadonlyMap<number, Figures>;
  sums: SumsOfTime;
  /** Changes with each addition. */
  version: string;
  readAt: number;
}

/**
 * Reads the sums that the processes have added. It keeps settled minutes from one reading to the next, so that a reading
 * usually costs two commands. `forget` drops them when nobody looks any more.
 */
export class StatsReader {
  readonly #options: StatsReaderOptions;
  #minutes = new Map<number, Minute>();
  /** The sums of the settled minutes, valid as long as those are the same. */
  #settled: { minutes: Minute[]; sums: SumsOfTime } = { minutes: [], sums: nothing() };

  constructor(options: StatsReaderOptions) {
    this.#options = options;
  }

  /** Reads the last hour, or the last `count` minutes, up to now. Rejects while Redis does not answer. */
  async read(count = wholeReading): Promise<StatsReading> {
    const now = this.#options.now();
    const present = Math.floor(now / minuteMs) * minuteMs;
    const first = present - (count - 1) * minuteMs;
    const wanted = Array.from({ length: count }, (_, at) => first + at * minuteMs);
    await this.#readAgain(wanted, now);
    const sums = await this.#addUp(wanted, now);
    const spans: StatsReading['spans'] = [];
    for (let at = first; at <= now; at += spanMs) {
      const minute = this.#minutes.get(Math.floor(at / minuteMs) * minuteMs);
      spans.push({ at, figures: minute?.spans.get(at) ?? noFigures });
    }
    return {
      at: now,
      spans,
      total: figuresOf(sums.total),
      models: figuresByName(sums.models),
      tenants: figuresByName(sums.tenants),
      codes: new Map([...sums.codes].map(([code, counted]) => [code, counted['count'] ?? 0])),
    };
  }

  /** Drops the settled minutes. */
  forget(): void {
    this.#minutes = new Map();
    this.#settled = { minutes: [], sums: nothing() };
  }

  async #readAgain(wanted: readonly number[], now: number): Promise<void> {
    const { connection, keyPrefix } = this.#options;
    const oldest = now - wholeReading * minuteMs;
    for (const at of this.#minutes.keys()) if (at + minuteMs < oldest) this.#minutes.delete(at);
    const due = wanted.filter((at) => !isSettled(this.#minutes.get(at), at, now));
    for (let at = 0; at < due.length; at += step) {
      const some = due.slice(at, at + step);
      const read = await Promise.all(some.map((minute) => connection.hgetall(minuteKey(keyPrefix, minute))));
      for (const [each, minute] of some.entries()) this.#take(minute, read[each] ?? {}, now);
    }
  }

  #take(at: number, hash: Record<string, string>, now: number): void {
    const version = Object.entries(hash)
      .filter(([field]) => field.startsWith(fieldOf.process))
      .join();
    const known = this.#minutes.get(at);
    if (known?.version === version) known.readAt = now;
    else this.#minutes.set(at, { ...parseMinute(at, hash), version, readAt: now });
  }

  async #addUp(wanted: readonly number[], now: number): Promise<SumsOfTime> {
    const all = wanted.flatMap((at) => {
      const minute = this.#minutes.get(at);
      // Only readings of the whole hour are repeated, so only those keep their sums.
      const isOver = wanted.length === wholeReading && now - at >= minuteMs + settledAfterMs;
      return minute ? [{ minute, isOver }] : [];
    });
    const over = all.filter(({ isOver }) => isOver).map(({ minute }) => minute);
    const sums = nothing();
    addTime(sums, await this.#sumOfSettled(over));
    for (const { minute, isOver } of all) if (!isOver) addTime(sums, minute.sums);
    return sums;
  }

  async #sumOfSettled(minutes: Minute[]): Promise<SumsOfTime> {
    const known = this.#settled;
    if (minutes.length === 0) return nothing();
    if (isSame(minutes, known.minutes)) return known.sums;
    const sums = await sumOf(minutes);
    this.#settled = { minutes, sums };
    return sums;
  }
}

function isSame(some: readonly Minute[], others: readonly Minute[]): boolean {
  return some.length === others.length && some.every((minute, at) => minute === others[at]);
}

async function sumOf(minutes: readonly Minute[]): Promise<SumsOfTime> {
  const sums = nothing();
  for (const [at, minute] of minutes.entries()) {
    if (at % step === step - 1) await breathe();
    addTime(sums, minute.sums);
  }
  return sums;
}

function isSettled(minute: Minute | undefined, at: number, now: number): boolean {
  if (!minute || minute.readAt < at + minuteMs + settledAfterMs) return false;
  return now - minute.readAt < readAgainMs;
}

function nothing(): SumsOfTime {
  return { total: {}, models: new Map(), tenants: new Map(), codes: new Map() };
}

function parseMinute(at: number, hash: Readonly<Record<string, string>>): Pick<Minute, 'spans' | 'sums'> {
  const spans = new Map<number, Figures>();
  const sums = nothing();
  const kinds: ReadonlyMap<string, Map<string, Sums>> = new Map([
    [fieldOf.model, sums.models],
    [fieldOf.tenant, sums.tenants],
    [fieldOf.code, sums.codes],
  ]);
  for (const field of Object.keys(hash)) {
    const [kind, name] = [field.slice(0, 2), field.slice(2)];
    if (kind === fieldOf.span) {
      const ofSpan = parseSums(hash[field] ?? '') ?? {};
      spans.set(at + Number(name) * spanMs, figuresOf(ofSpan));
      addAll(sums.total, ofSpan);
      continue;
    }
    const ofKind = kinds.get(kind);
    const named = ofKind && parseSums(hash[field] ?? '');
    if (named) ofKind.set(name, named);
  }
  return { spans, sums };
}

function addTime(to: SumsOfTime, { total, models, tenants, codes }: SumsOfTime): void {
  addAll(to.total, total);
  addNamed(to.models, models);
  addNamed(to.tenants, tenants);
  addNamed(to.codes, codes);
}

function addNamed(to: Map<string, Sums>, named: ReadonlyMap<string, Sums>): void {
  for (const [name, sums] of named) {
    const known = to.get(name);
    if (known) addAll(known, sums);
    else to.set(name, { ...sums });
  }
}

function figuresByName(named: ReadonlyMap<string, Sums>): Map<string, Figures> {
  return new Map([...named].map(([name, sums]) => [name, figuresOf(sums)]));
}
