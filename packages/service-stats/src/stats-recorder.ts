import { readFileSync } from 'node:fs';
import type { Telemetry } from '@sluice/runtime';
import type { Redis } from 'ioredis';
import { historySpans } from './history-spans.ts';
import { historyKey, minuteKey } from './keys.ts';
import { fieldOf, MinuteSums, minuteMs } from './minute-sums.ts';
import { addAll, type Sums } from './sums.ts';
import { binOf } from './time-bins.ts';

/** How often a process adds its counts, in milliseconds. */
const addEveryMs = 2_000;

/** How long a minute stays after its last addition, in milliseconds: an hour, and a margin for the clocks of readers. */
const keepMinuteMs = 65 * 60_000;

/** Most models, tenants and error codes of a minute, each. Counts of others go into the rest. */
const mostOfKind = 128;

/** Most minutes that a process keeps while Redis does not take them. Older ones are lost. */
const mostKept = 10;

const script = readFileSync(new URL('../src/add-minute.lua', import.meta.url), 'utf8');

export interface StatsRecorderOptions {
  connection: Pick<Redis, 'eval'>;
  /** Starts every key of the cell. */
  keyPrefix: string;
  /** Identifies this process among all others for as long as its minutes are kept. */
  processId: string;
  telemetry: Pick<Telemetry, 'on'>;
  /** Whether the service has a model of this id. Any other name is not counted by itself, or clients could fill a minute with names. */
  hasModel: (id: string) => boolean;
  /** The store's clock, in milliseconds; undefined while it is not known. Until then nothing is counted. */
  now: () => number | undefined;
  /** Called when Redis did not take an addition, and when some counts are lost. */
  onError: (error: unknown) => void;
}

/** Most fields that one script adds. It takes a millisecond at most, because other clients of Redis wait for it. */
const mostAtOnce = 32;

/** An addition that Redis has not confirmed. It is sent again unchanged, with the same number. */
interface Addition {
  key: string;
  /** How long the hash stays from then on, in milliseconds. */
  keepMs: number;
  /** The last minute of what it adds. */
  minute: number;
  /** The part of the minute's fields that it adds. Each part counts its additions by itself. */
  part: number;
  number: number;
  fields: string[];
}

/**
 * Counts what happens to responses in this process, and adds the counts every two seconds to the sums that all processes
 * share. That takes a few commands, whose number depends on models and tenants and not on responses, and one for each longer
 * time. No request waits for it.
 *
 * Each addition has a number and counts once, even if its reply was lost and it is sent again. While Redis is silent, ten
 * minutes are kept. A process that dies loses the counts that it has not added, usually of two seconds.
 */
export class StatsRecorder {
  readonly #options: StatsRecorderOptions;
  readonly #minutes = new Map<number, MinuteSums>();
  #unconfirmed: Addition[] = [];
  #number = 0;
  #timer: NodeJS.Timeout | undefined;
  #adding: Promise<void> | undefined;

  constructor(options: StatsRecorderOptions) {
    this.#options = options;
    const { telemetry } = options;
    telemetry.on('response.accepted', (about) => this.#count(about, 'accepted'));
    telemetry.on('response.refused', (about) => this.#count(about, 'refused'));
    telemetry.on('response.first_output', ({ model, sinceRequestMs }) =>
      this.#count({ tenant: undefined, model }, binOf(sinceRequestMs)),
    );
    telemetry.on('attempt.started', ({ attempt, sinceAcceptMs }) => {
      if (attempt === 1) this.#time(binOf(sinceAcceptMs, 'wait'));
    });
    telemetry.on('response.ended', ({ tenant, model, status, code, ...of }) => {
      const { inputTokens, outputTokens, ranMs } = of;
      const about = { tenant, model };
      if (ranMs !== undefined) this.#time(binOf(ranMs, 'run'));
      this.#count(about, status);
      if (inputTokens) this.#count(about, 'input_tokens', inputTokens);
      if (outputTokens) this.#count(about, 'output_tokens', outputTokens);
      if (code !== undefined) this.#present()?.sums.countCode(code);
    });
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.add(), addEveryMs);
  }

  /** Adds the remaining counts, if Redis answers. Safe to call twice, or before `start`. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#adding;
    await this.add();
  }

  /** Adds the counts so far. Never rejects; an addition that Redis did not take is sent again the next time. */
  add(): Promise<void> {
    this.#adding ??= this.#addAll().finally(() => {
      this.#adding = undefined;
    });
    return this.#adding;
  }

  #count({ tenant, model }: { tenant: string | undefined; model: string }, name: string, by?: number): void {
    const present = this.#present();
    const about = { tenant, model: this.#options.hasModel(model) ? model : undefined };
    present?.sums.count(present.at, about, name, by);
  }

  /** Counts a duration for all responses together: bins for each model would double the size of a minute. */
  #time(bin: string): void {
    const present = this.#present();
    present?.sums.count(present.at, { tenant: undefined, model: undefined }, bin);
  }

  #present(): { at: number; sums: MinuteSums } | undefined {
    const at = this.#options.now();
    if (at === undefined) return undefined;
    const minute = Math.floor(at / minuteMs) * minuteMs;
    const known = this.#minutes.get(minute);
    if (known) return { at, sums: known };
    for (const past of this.#minutes.values()) past.trim();
    const sums = new MinuteSums();
    this.#minutes.set(minute, sums);
    this.#forgetOldest();
    return { at, sums };
  }

  async #addAll(): Promise<void> {
    const { connection, processId, onError } = this.#options;
    if (this.#unconfirmed.length === 0) this.#unconfirmed = this.#take();
    const sent = this.#unconfirmed;
    const added = await Promise.allSettled(
      sent.map(({ key, part, number, keepMs, fields }) =>
        connection.eval(script, 1, key, `${processId}.${part}`, number, keepMs, mostOfKind, ...fields),
      ),
    );
    this.#unconfirmed = sent.filter((_addition, at) => added[at]?.status === 'rejected');
    const failed = added.find((each) => each.status === 'rejected');
    if (failed) onError(failed.reason);
  }

  #take(): Addition[] {
    this.#number += 1;
    const number = this.#number;
    const taken: Addition[] = [];
    const { keyPrefix } = this.#options;
    for (const [minute, sums] of this.#minutes) {
      const fields = sums.fields();
      for (let at = 0, part = 0; at < fields.length; at += 2 * mostAtOnce, part += 1) {
        const key = minuteKey(keyPrefix, minute);
        taken.push({
          key,
          keepMs: keepMinuteMs,
          minute,
          part,
          number,
          fields: fields.slice(at, at + 2 * mostAtOnce),
        });
      }
    }
    taken.push(...this.#history(number));
    this.#minutes.clear();
    return taken;
  }

  /** The counts of a minute, as additions to the sums of longer times. */
  #history(number: number): Addition[] {
    const { keyPrefix } = this.#options;
    const found = new Map<string, { keepMs: number; minute: number; spans: Map<number, Sums> }>();
    for (const [minute, sums] of this.#minutes) {
      for (const { name, hashMs, spanMs, keepMs: keepHashMs } of historySpans) {
        const begin = Math.floor(minute / hashMs) * hashMs;
        const key = historyKey(keyPrefix, name, begin);
        const hash = found.get(key) ?? { keepMs: keepHashMs, minute, spans: new Map<number, Sums>() };
        const span = Math.floor((minute - begin) / spanMs);
        const total = hash.spans.get(span) ?? {};
        addAll(total, sums.total());
        hash.spans.set(span, total);
        hash.minute = Math.max(hash.minute, minute);
        found.set(key, hash);
      }
    }
    return [...found].map(([key, { spans, ...of }]) => ({
      ...of,
      key,
      number,
      part: 0,
      fields: [...spans].flatMap(([span, sums]) => [`${fieldOf.span}${span}`, JSON.stringify(sums)]),
    }));
  }

  #forgetOldest(): void {
    const kept = new Set([...this.#minutes.keys(), ...this.#unconfirmed.map(({ minute }) => minute)]);
    if (kept.size <= mostKept) return;
    const oldest = Math.min(...kept);
    this.#minutes.delete(oldest);
    this.#unconfirmed = this.#unconfirmed.filter(({ minute }) => minute !== oldest);
    this.#options.onError(
      new Error(`What was counted in the minute from ${new Date(oldest).toISOString()} is lost`),
    );
  }
}
