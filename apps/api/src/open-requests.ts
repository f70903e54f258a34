import { getHeapStatistics } from 'node:v8';
import { ServiceError } from '@sluice/contract';

/** Bytes of memory of a caller that waits or reads a stream, with its connection: 4,000 streams took 70 KiB each. */
const callerBytes = 72 * 1024;

/** Share of the heap that callers may take. */
const heapShare = 0.5;

/** A tenant that has as many callers as it may, or a full process, may have room again after this, in milliseconds. */
const roomAfterMs = 1_000;

/** A request under way: a body that arrives, a wait for an answer, or a stream. */
export interface OpenRequest {
  /** Ends the request early, because this process stops. Its handler decides how. */
  interrupt: () => void;
  /** Notes that the request is over. Calling it again does nothing. */
  end: () => void;
}

/**
 * Requests under way, so that a stopping process can wait for them and, past its grace, end them. Those that are served for a
 * caller are bounded by the heap, and a tenant has half: each keeps a connection and what waits for it.
 */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();
  readonly #mostCallers: number;
  readonly #callersOf = new Map<string, number>();
  #callers = 0;
  #emptied: (() => void) | undefined;
  /** Whether the grace is over: what begins now is told so at once. */
  #isInterrupted = false;

  constructor(mostCallers = Math.floor((getHeapStatistics().heap_size_limit * heapShare) / callerBytes)) {
    this.#mostCallers = mostCallers;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Counts a caller of a tenant until the returned function is called. Twice is fine.
   *
   * @throws {ServiceError} when the tenant has half of all that there may be, or there are as many as may be.
   */
  enter(tenant: string): () => void {
    const own = this.#callersOf.get(tenant) ?? 0;
    if (own >= this.#mostCallers / 2)
      throw tooMany('rate_limit_exceeded', `You have ${own} requests open at once.`);
    if (this.#callers >= this.#mostCallers)
      throw tooMany('server_is_overloaded', 'Too many requests are open at once.');
    this.#callersOf.set(tenant, own + 1);
    this.#callers += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#callers -= 1;
      const left = (this.#callersOf.get(tenant) ?? 1) - 1;
      if (left > 0) this.#callersOf.set(tenant, left);
      else this.#callersOf.delete(tenant);
    };
  }

  /** Registers what a stopping process waits for. */
  begin(interrupt: () => void): OpenRequest {
    const open: OpenRequest = {
      interrupt,
      end: () => {
        if (this.#open.delete(open) && this.#open.size === 0) this.#emptied?.();
      },
    };
    this.#open.add(open);
    if (this.#isInterrupted) interrupt();
    return open;
  }

  /** Changes how a request under way is ended early; at once, when the grace is over. */
  take(open: OpenRequest, interrupt: () => void): void {
    open.interrupt = interrupt;
    if (this.#isInterrupted) interrupt();
  }

  /** Resolves when nothing is under way; what is left after `graceMs` is interrupted first. */
  async drain(graceMs: number): Promise<void> {
    const emptied = new Promise<void>((resolve) => {
      this.#emptied = resolve;
      if (this.#open.size === 0) resolve();
    });
    const timer = setTimeout(() => {
      this.#isInterrupted = true;
      for (const { interrupt } of this.#open) interrupt();
    }, graceMs);
    await emptied;
    clearTimeout(timer);
  }
}

function tooMany(code: 'rate_limit_exceeded' | 'server_is_overloaded', what: string): ServiceError {
  const message = `${what} Please try again in ${roomAfterMs / 1000}s.`;
  return new ServiceError(code, message, { retryAfterMs: roomAfterMs });
}
