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

/** An input for which there was no room, with everything that its response continues from. */
export interface WaitingInput {
  /** Id of its response. */
  id: string;
  tenant: string;
  bytes: number;
}

/** An input that is about to be read. */
export interface WantedInput extends WaitingInput {
  /** The lease of the attempt, under which it is given back. */
  token: string;
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
 * An input that is larger than a tenant's share counts as that share, so its tenant holds nothing else meanwhile. Room for it comes only when
 * smaller ones leave it free, so room is taken beside what each input needs that waits in front. None waits for one behind it, and so no two
 * for each other. Never is more than the share of a tenant kept for one that waits.
 */
export class InputBudget {
  readonly #bytes: number;
  /** The part of them that a tenant may have. */
  readonly #share: number;
  readonly #held = new Map<string, { tenant: string; bytes: number }>();
  readonly #heldBy = new Map<string, number>();
  #heldInAll = 0;

  /** `bytes`: most that all inputs take together, as they are stored. */
  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#share = bytes * tenantShare;
  }

  /** Bytes that are held, of all tenants or of one. */
  held(tenant?: string): number {
    return tenant === undefined ? this.#heldInAll : (this.#heldBy.get(tenant) ?? 0);
  }

  /**
   * Whether there is room for an input, which is taken then. Asked again with the same token, it answers the same. `waiting`: those that wait
   * for room, in the order in which they are to have it.
   */
  take(wanted: WantedInput, waiting: Iterable<WaitingInput> = []): boolean {
    const { token, tenant, bytes } = wanted;
    if (bytes <= freeInputBytes || this.#held.has(token)) return true;
    if (!this.#hasRoom(wanted) || !this.#leavesRoom(wanted, waiting)) return false;
    this.#held.set(token, { tenant, bytes: this.#counted(bytes) });
    this.#count(tenant, this.#counted(bytes));
    return true;
  }

  /** Gives back what was taken with a token, if anything was. */
  giveBack(token: string): void {
    const held = this.#held.get(token);
    if (!held) return;
    this.#held.delete(token);
    this.#count(held.tenant, -held.bytes);
  }

  #count(tenant: string, bytes: number): void {
    const ofTenant = this.held(tenant) + bytes;
    if (ofTenant > 0) this.#heldBy.set(tenant, ofTenant);
    else this.#heldBy.delete(tenant);
    this.#heldInAll += bytes;
  }

  #counted(bytes: number): number {
    return Math.min(bytes, this.#share);
  }

  /** Whether each that waits in front of an input has its room beside it. */
  #leavesRoom(wanted: WantedInput, waiting: Iterable<WaitingInput>): boolean {
    for (const inFront of waiting) {
      if (inFront.id === wanted.id) return true;
      if (!this.#hasRoom(wanted, inFront)) return false;
    }
    return true;
  }

  /** Whether there is room for an input, beside that for another. */
  #hasRoom({ tenant, bytes }: WaitingInput, other?: WaitingInput): boolean {
    const ofOther = other ? this.#counted(other.bytes) : 0;
    const isOwn = other?.tenant === tenant;
    const ofTenant = this.held(tenant) + this.#counted(bytes) + (isOwn ? ofOther : 0);
    if (ofTenant > this.#share) return false;
    // The other tenant may hold its share already: then it waits for its own.
    const kept = other && !isOwn ? Math.min(ofOther, this.#share - this.held(other.tenant)) : 0;
    return this.held() - this.held(tenant) + ofTenant + kept <= this.#bytes;
  }
}
