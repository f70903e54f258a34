/** Bytes of memory for each byte of an input: it is received, parsed, and printed for the upstream. */
const copies = 4;

/** Inputs of up to so many bytes are read whatever others hold. */
export const freeInputBytes = 256 * 1024;

/** Share of what the heap has to spare that inputs may take. `OutputBudget` has half; see `spareBytes` there. */
const heapShare = 0.25;

/** Least bytes of inputs that a process holds, however small its heap is. */
const leastBytes = 4 * 1024 * 1024;

/** Share of what the heap has to spare that turns of conversations may take which the worker keeps. */
const keptShare = 1 / 16;

/** A tenant has half, so that the next one always finds room. */
const tenantShare = 0.5;

/** An input that is about to be read, with everything that its response continues from. */
export interface WantedInput {
  /** The lease of the attempt, under which it is given back. */
  token: string;
  tenant: string;
  bytes: number;
}

/** Most bytes of inputs that a process holds, by what its heap has to spare. */
export function inputBytesOfHeap(spareBytes: number, part = 1): number {
  return Math.max(leastBytes, Math.floor((spareBytes * heapShare * part) / copies));
}

/** Most bytes of memory for turns of conversations that are kept, by what the heap has to spare. */
export function keptTurnsBytesOfHeap(spareBytes: number): number {
  return Math.floor(spareBytes * keptShare);
}

/**
 * Bounds the inputs that the attempts of a process hold at a time. An attempt takes room before it reads its input, and
 * gives it back when it is over. One that finds none goes back to its queue.
 *
 * An input that is larger than a tenant's share counts as that share, so its tenant holds nothing else meanwhile.
 */
export class InputBudget {
  readonly #bytes: number;
  readonly #held = new Map<string, { tenant: string; bytes: number }>();

  /** `bytes`: most that all inputs take together, as they are stored. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Bytes that are held, of all tenants or of one. */
  held(tenant?: string): number {
    let sum = 0;
    for (const each of this.#held.values())
      if (tenant === undefined || each.tenant === tenant) sum += each.bytes;
    return sum;
  }

  /** Whether there is room for an input, which is taken then. Asked again with the same token, it answers the same. */
  take({ token, tenant, bytes }: WantedInput): boolean {
    if (bytes <= freeInputBytes || this.#held.has(token)) return true;
    const most = this.#bytes * tenantShare;
    const counted = Math.min(bytes, most);
    if (this.held(tenant) + counted > most || this.held() + counted > this.#bytes) return false;
    this.#held.set(token, { tenant, bytes: counted });
    return true;
  }

  /** Gives back what was taken with a token, if anything was. */
  giveBack(token: string): void {
    this.#held.delete(token);
  }
}
