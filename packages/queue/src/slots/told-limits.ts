import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

const script = readFileSync(new URL('../../src/slots/tell-limits.lua', import.meta.url), 'utf8');

/** How often a process tells its limits, in milliseconds. */
const tellEveryMs = 5_000;

/** How long a limit counts that nobody tells any more, in milliseconds. */
const lapseMs = 30_000;

/** The most queues of one step. */
const mostAtOnce = 500;

/** How many jobs of each queue run at once, by its encoded name; undefined for no limit. */
export type Limits = ReadonlyMap<string, number | undefined>;

/**
 * What the processes tell each other of their limits, in the first cell. One of them divides the limits of all, and those of a pool of workers
 * know only the models of that pool.
 */
export class ToldLimits {
  /** The note of each queue, and when it was first seen so. */
  readonly #seen = new Map<string, { note: string; at: number }>();
  #toldAt = Number.NEGATIVE_INFINITY;
  #told = '';

  /** Tells the limits of this process, every few seconds and when they have changed. */
  async tell({ connection, key }: ToldIn, limits: Limits): Promise<void> {
    const text = JSON.stringify([...limits]);
    if (text === this.#told && performance.now() - this.#toldAt < tellEveryMs) return;
    // A note that is told again is another one. Nobody compares its time with a clock.
    const now = Date.now();
    const notes = [...limits].map(([queue, limit]) => [queue, `${limit ?? ''} ${now}`] as const);
    for (let at = 0; at < notes.length; at += mostAtOnce)
      await connection.eval(script, 1, key, lapseMs, ...notes.slice(at, at + mostAtOnce).flat());
    this.#told = text;
    this.#toldAt = performance.now();
  }

  /** Reads the limits that have been told lately, and forgets the others. */
  async read({ connection, key }: ToldIn): Promise<Limits> {
    const notes = Object.entries(await connection.hgetall(key));
    const now = performance.now();
    const known = new Map(this.#seen);
    this.#seen.clear();
    const lapsed: string[] = [];
    const limits = new Map<string, number | undefined>();
    for (const [queue, note] of notes) {
      const before = known.get(queue);
      const at = before?.note === note ? before.at : now;
      if (now - at >= lapseMs) {
        lapsed.push(queue);
        continue;
      }
      this.#seen.set(queue, { note, at });
      const [limit = ''] = note.split(' ');
      limits.set(queue, limit === '' ? undefined : Number(limit));
    }
    if (lapsed.length > 0) await connection.hdel(key, ...lapsed);
    return limits;
  }
}

interface ToldIn {
  connection: Pick<Redis, 'eval' | 'hgetall' | 'hdel'>;
  key: string;
}
