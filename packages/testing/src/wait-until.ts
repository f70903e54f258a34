import { setTimeout as pause } from 'node:timers/promises';

/** The one time-out of waiting in tests: far above anything that works, far below the runner's own. */
export const WAIT_TIMEOUT_MS = 15_000;

export interface WaitOptions {
  /** 15 s by default. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Waits for a fact: calls `check` until it returns something other than `undefined`, `null` and `false`, and resolves
 * with that. A check that throws is not yet true, so it may hold assertions; the last error is in the message of the
 * time-out. For what tells of itself, await its promise or a latch instead.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = WAIT_TIMEOUT_MS, signal }: WaitOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const value = await check();
      // Excluded here are exactly the values that the type excludes.
      if (value !== undefined && value !== null && value !== false) return value as never;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() > deadline) {
      const reason = lastError instanceof Error ? `: ${lastError.message}` : '';
      throw new Error(`not true within ${timeoutMs} ms${reason}`, { cause: lastError });
    }
    await pause(POLL_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/** A gate that one side of a test opens and the other waits at. */
export interface Latch<T = void> {
  /** Opens it for everybody, now and later. Only the first value counts. */
  open(value: T): void;
  isOpen: boolean;
  /** Resolves with the value once it is open; rejects after the time-out. */
  wait(options?: WaitOptions): Promise<T>;
}

/** Makes a closed latch. */
export function latch<T = void>(): Latch<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const gate: Latch<T> = {
    isOpen: false,
    open(value) {
      gate.isOpen = true;
      resolve(value);
    },
    wait: (options) => within(promise, options),
  };
  return gate;
}

/** The promise's result, or a rejection when it takes longer than the time-out. */
export async function within<T>(
  promise: Promise<T>,
  { timeoutMs = WAIT_TIMEOUT_MS, signal }: WaitOptions = {},
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not settled within ${timeoutMs} ms`)), timeoutMs);
  const onAbort = () => late.reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

const POLL_MS = 10;
