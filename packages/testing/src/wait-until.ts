import { setTimeout as pause } from 'node:timers/promises';

/**
 * The time-out for every wait in tests: far longer than anything that works takes on a machine that does much else, and shorter
 * than the runner's. It ends what would hang and measures nothing.
 */
export const WAIT_TIMEOUT_MS = 60_000;

export interface WaitOptions {
  /** A minute by default. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Calls `check` until it returns something other than `undefined`, `null` and `false`, and resolves with that. A check
 * that throws counts as not true yet, so it may contain assertions. The message of the time-out has the last error. A long
 * wait is looked at less often, which makes it a twentieth longer at most: looks cost the machine what other tests need. If
 * there is a promise or a latch to wait for, await that instead.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = WAIT_TIMEOUT_MS, signal }: WaitOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const startedAt = performance.now();
  let lastError: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const value = await check();
      // The condition excludes exactly the values that the type excludes.
      if (value !== undefined && value !== null && value !== false) return value as never;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > timeoutMs) {
      const reason = lastError instanceof Error ? `: ${lastError.message}` : '';
      throw new Error(`not true within ${timeoutMs} ms${reason}`, { cause: lastError });
    }
    const pauseMs = Math.min(Math.max(POLL_MS.first, waitedMs * POLL_MS.share), POLL_MS.longest);
    await pause(pauseMs, undefined, signal === undefined ? {} : { signal });
  }
}

/** A gate that one side of a test opens and the other side waits for. */
export interface Latch<T = void> {
  /** Opens the gate for all waits, now and later. Only the first value counts. */
  open(value: T): void;
  isOpen: boolean;
  /** Resolves with the value once the gate is open. Rejects after the time-out. */
  wait(options?: WaitOptions): Promise<T>;
}

/** Makes a latch, closed at first. */
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

/** Resolves or rejects as the promise does, and rejects if that takes longer than the time-out. */
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

/** Checks may be costly, so the longer a wait has taken, the rarer they are. No wait takes a twentieth longer by that. */
const POLL_MS = { first: 10, share: 0.05, longest: 100 };
