import { pause } from '@sluice/runtime';
import { timedOut } from './failure.ts';
import type { Outcome } from './outcome.ts';
import { type Order, sendOnce, type SendOptions } from './send-once.ts';

export interface RequestOptions extends Omit<SendOptions, 'signal'> {
  /** Most time from the call to the end, with all retries, in milliseconds. */
  timeoutMs: number;
  /** How often the request is tried again. */
  retries: number;
  /** Ends the request at once. Is aborted by this function, too, when the time is over. */
  ending: AbortController;
}

/** The first wait before a retry when the endpoint does not say how long; it doubles each time. */
const firstWaitMs = 500;
const longestWaitMs = 8000;

/**
 * Sends a request, again if that is allowed and may help, and follows it to its end. A retry waits as long as
 * `Retry-After` says. If the time does not suffice for that, the failure stands. Rejects for a defect of the tool alone.
 */
export async function sendRequest(order: Order, options: RequestOptions): Promise<Outcome> {
  const { timeoutMs, retries, ending, witness } = options;
  const { signal } = ending;
  const deadline = performance.now() + timeoutMs;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    ending.abort();
  }, timeoutMs);
  try {
    for (let tried = 0; ; tried++) {
      const outcome = await sendOnce(order, { ...options, signal });
      if (outcome.kind !== 'failed' || !outcome.failure.isRetryable || tried >= retries) return outcome;
      const waitMs = outcome.failure.retryAfterMs ?? Math.min(longestWaitMs, firstWaitMs * 2 ** tried);
      if (performance.now() + waitMs > deadline) return outcome;
      await pause(waitMs, signal);
      signal.throwIfAborted();
      witness.retried();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return isLate ? { kind: 'failed', failure: timedOut(timeoutMs) } : { kind: 'unfinished' };
  } finally {
    clearTimeout(timer);
  }
}
