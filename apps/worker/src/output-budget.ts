/** Bytes of the heap that answers cannot have: V8's young generation, some 192 MiB, and the worker's own memory. */
const ownBytes = 256 * 1024 * 1024;

/** Share of the rest for answers in flight. The remainder is for reading, printing and garbage. */
const heapShare = 0.5;

/** Bytes that each attempt may hold in any case: an answer of some thousand tokens. */
export const freeBytes = 256 * 1024;

export interface OutputBudgetOptions {
  /** Most bytes of memory for answers in flight in a process. */
  bytes: number;
  /** Bytes that each attempt may hold on top of that. */
  freeBytes: number;
}

/** The part of a heap of this many bytes that inputs and answers may use. */
export function spareBytes(heapBytes: number): number {
  return Math.max(0, heapBytes - ownBytes);
}

/** The budget of a process with a heap of this many bytes, or a part of that budget. */
export function budgetOfHeap(heapBytes: number, part = 1): OutputBudgetOptions {
  return { bytes: Math.floor(spareBytes(heapBytes) * heapShare * part), freeBytes };
}

interface OfTenant {
  held: number;
  /** Its large answers, in the order in which they became large. */
  large: Set<OutputShare>;
}

/**
 * Shares the memory of a process among the answers in flight.
 *
 * A large answer may grow while its tenant holds no more than is still free. So one tenant gets half at most, two get a third
 * each, and the next one always finds room. The oldest large answer of a tenant may grow while anything is free, and the
 * oldest of the process always may. So one answer always comes to its end, and only that one exceeds the budget, by no more
 * than `limits.outputBytes`.
 */
export class OutputBudget {
  readonly #bytes: number;
  readonly #freeBytes: number;
  readonly #tenants = new Map<string, OfTenant>();
  readonly #large = new Set<OutputShare>();
  readonly #waiting = new Map<OutputShare, Set<() => void>>();
  #held = 0;

  constructor({ bytes, freeBytes: free }: OutputBudgetOptions) {
    this.#bytes = bytes;
    this.#freeBytes = free;
  }

  /** Bytes that all answers hold together. */
  get held(): number {
    return this.#held;
  }

  /** How many answers wait for room. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Opens the share of an attempt, which closes it at its end. */
  open(tenant: string): OutputShare {
    return new OutputShare({
      onHeld: (share, by) => this.#onHeld(tenant, share, by),
      mayGrow: (share) => this.#mayGrow(tenant, share),
      wait: (share, signal) => this.#wait(share, signal),
      onClosed: (share) => this.#onClosed(tenant, share),
    });
  }

  #onHeld(tenant: string, share: OutputShare, by: number): void {
    this.#held += by;
    let of = this.#tenants.get(tenant);
    if (!of) {
      of = { held: 0, large: new Set() };
      this.#tenants.set(tenant, of);
    }
    of.held += by;
    if (share.held > this.#freeBytes && !this.#large.has(share)) {
      share.isLarge = true;
      this.#large.add(share);
      of.large.add(share);
    }
    if (by < 0) this.#wake();
  }

  #onClosed(tenant: string, share: OutputShare): void {
    this.#large.delete(share);
    const of = this.#tenants.get(tenant);
    of?.large.delete(share);
    if (of?.held === 0 && of.large.size === 0) this.#tenants.delete(tenant);
    this.#wake();
  }

  #mayGrow(tenant: string, share: OutputShare): boolean {
    if (share.held <= this.#freeBytes) return true;
    if (isFirst(this.#large, share)) return true;
    const free = this.#bytes - this.#held;
    const of = this.#tenants.get(tenant);
    return of !== undefined && free > 0 && (of.held <= free || isFirst(of.large, share));
  }

  #wait(share: OutputShare, signal: AbortSignal): Promise<void> {
    if (signal.aborted || share.mayGrow) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done);
        const those = this.#waiting.get(share);
        those?.delete(done);
        if (those?.size === 0) this.#waiting.delete(share);
        resolve();
      };
      const those = this.#waiting.get(share) ?? new Set();
      this.#waiting.set(share, those.add(done));
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #wake(): void {
    for (const [share, those] of this.#waiting) {
      if (share.mayGrow) for (const done of those) done();
    }
  }
}

interface ShareOwner {
  onHeld: (share: OutputShare, by: number) => void;
  mayGrow: (share: OutputShare) => boolean;
  wait: (share: OutputShare, signal: AbortSignal) => Promise<void>;
  onClosed: (share: OutputShare) => void;
}

/** The memory that one attempt holds: its output so far, events that wait to be written, and data that was read ahead. */
export class OutputShare {
  /** Whether it has ever held more than `freeBytes`. Set by the budget. */
  isLarge = false;
  readonly #owner: ShareOwner;
  #output = 0;
  #readAhead = 0;

  constructor(owner: ShareOwner) {
    this.#owner = owner;
  }

  get held(): number {
    return this.#output + this.#readAhead;
  }

  /** Whether more may be read for it now. */
  get mayGrow(): boolean {
    return this.#owner.mayGrow(this);
  }

  /** Bytes of memory that the output takes now. */
  set output(bytes: number) {
    const by = bytes - this.#output;
    this.#output = bytes;
    this.#owner.onHeld(this, by);
  }

  /** Bytes of memory of data that was read from the upstream and is no output yet. */
  set readAhead(bytes: number) {
    const by = bytes - this.#readAhead;
    if (by === 0) return;
    this.#readAhead = bytes;
    this.#owner.onHeld(this, by);
  }

  /** Resolves when more may be read, or with the end of the attempt. */
  room(signal: AbortSignal): Promise<void> {
    return this.#owner.wait(this, signal);
  }

  /** Frees what it holds. Safe to call twice. */
  close(): void {
    this.output = 0;
    this.readAhead = 0;
    this.#owner.onClosed(this);
  }
}

function isFirst<Value>(set: ReadonlySet<Value>, value: Value): boolean {
  for (const first of set) return first === value;
  return false;
}
