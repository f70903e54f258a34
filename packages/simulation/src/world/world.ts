import { Digest } from './digest.ts';
import { Random } from './random.ts';
import { real } from './real-timers.ts';

/** When every world begins, in milliseconds since 1970. */
const beginsAt = Date.UTC(2027, 0, 15, 8);

/** A process as the world and its clocks know it; see `SimulatedProcess`. */
export interface Inhabitant {
  readonly name: string;
  readonly random: Random;
  /** What `Date.now()` says, and `performance.now()`. */
  readonly dateMs: number;
  readonly runningMs: number;
  readonly isDead: boolean;
  readonly pausedUntilMs: number;
  after(delayMs: number, run: () => void): Happening;
}

/** Something that will happen. */
export interface Happening {
  atMs: number;
  /** Tells apart what happens at the same time: what was planned first is first. */
  order: number;
  /** The process whose code it runs; undefined for that of the world itself. Nothing happens to a process that has died. */
  process: Inhabitant | undefined;
  run: () => void;
  /** Whether it leaves nothing to do for promises and ticks. */
  isPlain: boolean;
  isCancelled: boolean;
}

/**
 * Simulated time. Everything that happens is planned for a moment, and the world goes from one moment to the next: what one
 * step starts is over (promises, ticks) before the next one begins, and no time passes in a step.
 *
 * What it is told to note makes its digest, so two runs with the same digest had the same history.
 */
export class World {
  readonly random: Random;
  /** The process whose code runs in this step. */
  current: Inhabitant | undefined;
  readonly #heap: Happening[] = [];
  readonly #digest = new Digest();
  readonly #log: ((line: string) => void) | undefined;
  #order = 0;
  #steps = 0;
  #elapsedMs = 0;
  /** The time in nanoseconds, and of which moment it is: a store asks for it many times in a step. */
  #nowNs = 0n;
  #nowNsAt = -1;
  /** Called with each line that a process logs. */
  onLogged: (line: string) => void = () => undefined;
  /** Code of a process that threw, or a promise that nobody handled. */
  readonly crashes: string[] = [];

  constructor({ seed, log }: { seed: number; log?: ((line: string) => void) | undefined }) {
    this.random = new Random(seed);
    this.#log = log;
  }

  /** Since the world began, in milliseconds. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return beginsAt + this.#elapsedMs;
  }

  get nowNs(): bigint {
    if (this.#nowNsAt !== this.#elapsedMs) {
      this.#nowNsAt = this.#elapsedMs;
      this.#nowNs = BigInt(beginsAt) * 1_000_000n + BigInt(Math.floor(this.#elapsedMs * 1_000_000));
    }
    return this.#nowNs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Plans something. */
  after(delayMs: number, process: Inhabitant | undefined, run: () => void): Happening {
    return this.#plan(delayMs, { process, run, isPlain: false });
  }

  /** Plans something for a moment. What is planned for the same moment happens in the order in which it was planned. */
  at(atMs: number, process: Inhabitant | undefined, run: () => void): Happening {
    return this.#planAt(atMs, { process, run, isPlain: false });
  }

  /** Plans something that starts no code of a process and settles no promise, so the next step may follow at once. */
  plainlyAfter(delayMs: number, run: () => void): void {
    this.#plan(delayMs, { process: undefined, run, isPlain: true });
  }

  /** The same for a moment. */
  plainlyAt(atMs: number, run: () => void): void {
    this.#planAt(atMs, { process: undefined, run, isPlain: true });
  }

  #plan(delayMs: number, what: Pick<Happening, 'process' | 'run' | 'isPlain'>): Happening {
    return this.#planAt(this.#elapsedMs + Math.max(delayMs, 0), what);
  }

  #planAt(atMs: number, what: Pick<Happening, 'process' | 'run' | 'isPlain'>): Happening {
    const happening: Happening = { ...what, atMs, order: (this.#order += 1), isCancelled: false };
    this.#push(happening);
    return happening;
  }

  /** Waits in a story, which is told by code of the world itself. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, undefined, resolve));
  }

  /** Adds to the digest, and to the log if there is one. */
  note(who: string, what: string, bytes?: Uint8Array): void {
    this.#digest.add(this.#elapsedMs, `${who} ${bytes ? bytes.length : what}\n`, bytes);
    this.remark(who, what);
  }

  /** Adds to the log alone. */
  remark(who: string, what: string): void {
    this.#log?.(`${(this.#elapsedMs / 1000).toFixed(6).padStart(12)} ${who.padEnd(10)} ${what}`);
  }

  get isLogged(): boolean {
    return this.#log !== undefined;
  }

  digest(): string {
    return this.#digest.hex().slice(0, 16);
  }

  /** Runs until `isOver`, asked between two steps, or until nothing is left to happen. */
  async run(isOver: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = () => {
      this.current = undefined;
      try {
        if (isOver()) return resolve();
        let step = this.#step();
        while (step === 'plain') step = this.#step();
        if (step === 'none') return resolve();
      } catch (error) {
        return reject(error);
      }
      real.setImmediate(turn);
    };
    real.setImmediate(turn);
    await promise;
    this.current = undefined;
  }

  /** Runs code as a process, at once. For the step that starts it. */
  as(process: Inhabitant, run: () => void): void {
    const before = this.current;
    this.current = process;
    try {
      run();
    } finally {
      this.current = before;
    }
  }

  crashed(error: unknown): void {
    const who = this.current?.name ?? 'world';
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.note(who, `CRASHED ${text}`);
    this.crashes.push(`${who}: ${text}`);
  }

  /** Takes the next step. A `plain` one has left nothing to do before the one after it. */
  #step(): 'plain' | 'taken' | 'none' {
    const next = this.#pop();
    if (!next) return 'none';
    this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs);
    this.#steps += 1;
    const { process } = next;
    if (process?.isDead === true) return 'plain';
    if (process && process.pausedUntilMs > this.#elapsedMs) {
      // It keeps its place before what is planned later.
      next.atMs = process.pausedUntilMs;
      this.#push(next);
      return 'plain';
    }
    this.current = process;
    try {
      next.run();
    } catch (error) {
      if (!process) throw error;
      this.crashed(error);
    }
    return next.isPlain ? 'plain' : 'taken';
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let at = heap.push(happening) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (!above || !isBefore(happening, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = happening;
  }

  #pop(): Happening | undefined {
    for (;;) {
      const first = this.#take();
      if (!first?.isCancelled) return first;
    }
  }

  #take(): Happening | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const one = heap[left];
      if (!one) break;
      const other = heap[left + 1];
      const [child, childAt] = other && isBefore(other, one) ? [other, left + 1] : [one, left];
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
