/** Bytes of the heap's limit that are no room for answers: V8's young generation, some 192 MiB, and what a worker takes for itself. */
const ownBytes = 256 * 1024 * 1024;

/** Share of the rest that answers may take that are under way. What is left is for what is read, printed and collected meanwhile. */
const heapShare = 0.5;

/** Bytes that each attempt may hold whatever others do: an answer of some thousand tokens. */
export const freeBytes = 256 * 1024;

export interface OutputBudgetOptions {
  /** Most bytes of memory that the attempts of a process hold of answers that are under way. */
  bytes: number;
  /** Bytes that each attempt may hold beside that. */
  freeBytes: number;
}

/** What a heap of so many bytes has to spare for inputs and answers. */
export function spareBytes(heapBytes: number): number {
  return Math.max(0, heapBytes - ownBytes);
}

/** The budget of a process whose heap may have so many bytes, or a part of it. */
export function budgetOfHeap(heapBytes: number, part = 1): OutputBudgetOptions {
  return { bytes: Math.floor(spareBytes(heapBytes) * heapShare * part), freeBytes };
}

interface OfTenant {
  held: number;
  /** Its large answers, in the order in which they became large. */
  large: Set<OutputShare>;
}

/**
 * Shares the memory of a process among the answers that are under way.
 *
 * An answer that is no longer small grows while its tenant holds no more than is left free. So one tenant gets half at most,
 * two get a third each, and the next one always finds room. The oldest large answer of a tenant goes on while anything is
 * free, and the oldest of the process goes on even then: there is always one that comes to its end, and no more than one
 * exceeds the budget, by what `limits.outputBytes` allows it.
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

  /** The share of an attempt, which closes it. */
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

/** What one attempt holds of its answer: the output so far with what waits to be written of it, and what was read ahead. */
export class OutputShare {
  /** Whether it has ever held more than each may. Set by the budget. */
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

  /** Bytes of memory that take what was read of the upstream and is no output yet. */
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

  /** Gives back what it holds. Safe to call twice. */
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
