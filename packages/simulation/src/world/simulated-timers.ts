import { promisify } from 'node:util';
import { real } from './real-timers.ts';
import type { Happening, Inhabitant } from './world.ts';

type Callback = (...args: unknown[]) => void;

/** What `setTimeout`, `setInterval` and `setImmediate` return. No timer keeps a world going: its story does. */
export class SimulatedTimer {
  readonly #process: Inhabitant;
  readonly #delayMs: number;
  readonly #repeats: boolean;
  readonly #call: () => void;
  #planned: Happening;

  constructor(process: Inhabitant, call: () => void, { delayMs = 0, repeats = false } = {}) {
    this.#process = process;
    this.#call = call;
    this.#delayMs = delayMs;
    this.#repeats = repeats;
    this.#planned = this.#plan();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  refresh(): this {
    this.close();
    this.#planned = this.#plan();
    return this;
  }

  close(): void {
    this.#planned.isCancelled = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #plan(): Happening {
    return this.#process.after(this.#delayMs, () => {
      if (this.#repeats) this.#planned = this.#plan();
      this.#call();
    });
  }
}

/** The timers of Node for whichever process runs; those of Node itself where none does. */
export function simulatedTimers(current: () => Inhabitant | undefined) {
  const timer =
    (fallback: Function, repeats: boolean) =>
    (callback: Callback, delay?: number, ...args: unknown[]): unknown => {
      const process = current();
      if (!process) return fallback(callback, delay, ...args);
      // Node waits for a millisecond at least, and takes what is no number for that.
      const delayMs = typeof delay === 'number' && delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1;
      return new SimulatedTimer(process, () => callback(...args), { delayMs, repeats });
    };
  const clear = (fallback: (timer: never) => void) => (handle: unknown) => {
    if (handle instanceof SimulatedTimer) handle.close();
    else fallback(handle as never); // Node takes whatever it is given.
  };
  const immediate = (callback: Callback, ...args: unknown[]): unknown => {
    const process = current();
    if (!process) return real.setImmediate(callback, ...args);
    return new SimulatedTimer(process, () => callback(...args));
  };
  const faked = {
    setTimeout: timer(real.setTimeout, false),
    setInterval: timer(real.setInterval, true),
    setImmediate: immediate,
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
    clearImmediate: clear(real.clearImmediate),
  };
  const promised = {
    setTimeout: (delay?: number, value?: unknown, options?: Waiting) =>
      wait((done) => faked.setTimeout(done, delay), faked.clearTimeout, value, options),
    setImmediate: (value?: unknown, options?: Waiting) =>
      wait((done) => faked.setImmediate(done), faked.clearImmediate, value, options),
  };
  Object.assign(faked.setTimeout, { [promisify.custom]: promised.setTimeout });
  Object.assign(faked.setImmediate, { [promisify.custom]: promised.setImmediate });
  return { faked, promised };
}

interface Waiting {
  signal?: AbortSignal;
}

function wait(
  start: (done: () => void) => unknown,
  clear: (handle: unknown) => void,
  value: unknown,
  { signal }: Waiting = {},
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clear(handle);
      reject(Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), aborted));
    };
    const handle = start(() => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/** What Node rejects with. */
const aborted = { name: 'AbortError', code: 'ABORT_ERR' };
