import { ApiError, ConnectionError } from './errors.ts';

/** How a request that failed is tried again. */
export interface RetryPolicy {
  /** Most attempts in a row of which none brought anything; 10 by default. */
  attempts: number;
  /** About how long the first wait is, in milliseconds, and the longest. Each wait is about twice the one before; 250 and 8,000. */
  firstMs: number;
  longestMs: number;
  /** A server that asks for a longer wait than this is not asked again, in milliseconds; 60,000. */
  longestAskedMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  attempts: 10,
  firstMs: 250,
  longestMs: 8_000,
  longestAskedMs: 60_000,
};

/** The base URLs of a service. The one in use is the last that has worked. */
export class BaseUrls {
  readonly #urls: readonly string[];
  #at = 0;

  constructor(urls: readonly string[]) {
    if (urls.length === 0) throw new TypeError("'baseUrl' or 'baseUrls' must name a server.");
    this.#urls = urls.map((url) => url.replace(/\/+$/, ''));
  }

  get count(): number {
    return this.#urls.length;
  }

  get current(): string {
    return this.#urls[this.#at] ?? '';
  }

  /** Moves on from one that does not work, unless another request has done so. */
  leave(url: string): void {
    if (url === this.current) this.#at = (this.#at + 1) % this.#urls.length;
  }
}

export interface AttemptsOptions {
  policy: RetryPolicy;
  urls: BaseUrls;
  signal: AbortSignal | undefined;
  /** From 0 to below 1. */
  random?: () => number;
}

/** The attempts at one thing. It decides whether there is another one, where, and when. */
export class Attempts {
  readonly #options: AttemptsOptions;
  #failures = 0;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** How many have failed since the last that brought something. */
  get failures(): number {
    return this.#failures;
  }

  /** The last attempt has brought something. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * Resolves when it is time for the next attempt after one that failed at a base URL. The other base URLs are tried
   * at once, and then all of them after a wait. Rejects with the error when there is no next attempt.
   */
  async failed(error: unknown, url: string): Promise<void> {
    const { policy, urls, signal, random = Math.random } = this.#options;
    signal?.throwIfAborted();
    if (!isTransient(error)) throw error;
    this.#failures += 1;
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    if (this.#failures >= policy.attempts || askedMs > policy.longestAskedMs) throw error;
    // A limit is that of the tenant, and the same everywhere.
    const isLimit = error instanceof ApiError && error.status === 429;
    if (!isLimit) urls.leave(url);
    if (!isLimit && this.#failures % urls.count !== 0) return;
    const round = Math.ceil(this.#failures / urls.count);
    const longest = Math.min(policy.longestMs, policy.firstMs * 2 ** (round - 1));
    await pause(Math.max(askedMs, longest * (0.5 + random() / 2)), signal);
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && error.isTransient);
}

/** Waits. Rejects with the signal's reason as soon as that is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
  });
}
