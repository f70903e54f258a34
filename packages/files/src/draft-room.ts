import { ServiceError } from '@sluice/contract';

/** An upload lasts seconds or minutes: another try sooner would mostly be in vain. In milliseconds. */
const roomAfterMs = 5_000;

/** Room on the disk that one draft has. Its owner releases it. */
export interface DraftReservation {
  /** Sees to it that so many bytes in all are reserved. @throws {ServiceError} when there is no room, and nothing changes. */
  reach(bytes: number): void;
  /** Gives everything back. Safe to call twice. */
  release(): void;
}

/**
 * The bytes that drafts take on the disk of a process at a time, from the moment they are announced, or arrive, until they are dropped. The disk of
 * an api with a bucket may be small, and a pod that fills it is evicted with all of its streams. A tenant has half of them, so that one cannot keep
 * the others out.
 */
export class DraftRoom {
  readonly #most: number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();

  /** @param most bytes in all; at least twice those of the largest file, or a tenant could never send that. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Reserves nothing yet. */
  open(tenant: string): DraftReservation {
    let held = 0;
    return {
      reach: (bytes) => {
        if (bytes <= held) return;
        this.#take(tenant, bytes - held);
        held = bytes;
      },
      release: () => {
        this.#giveBack(tenant, held);
        held = 0;
      },
    };
  }

  #take(tenant: string, bytes: number): void {
    const ofTenant = (this.#heldBy.get(tenant) ?? 0) + bytes;
    const later = { retryAfterMs: roomAfterMs };
    if (ofTenant > this.#most / 2) {
      const message = `Your uploads under way are too large together. Please try again in ${roomAfterMs / 1_000}s.`;
      throw new ServiceError('rate_limit_exceeded', message, later);
    }
    if (this.#held + bytes > this.#most) {
      const message = 'The uploads under way are too large together. Please try again later.';
      throw new ServiceError('server_is_overloaded', message, later);
    }
    this.#heldBy.set(tenant, ofTenant);
    this.#held += bytes;
  }

  #giveBack(tenant: string, bytes: number): void {
    const ofTenant = (this.#heldBy.get(tenant) ?? 0) - bytes;
    if (ofTenant > 0) this.#heldBy.set(tenant, ofTenant);
    else this.#heldBy.delete(tenant);
    this.#held -= bytes;
  }
}
