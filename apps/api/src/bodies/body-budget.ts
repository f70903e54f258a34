import { ServiceError } from '@sluice/contract';

/** Bodies are read and accepted in less than this, as a rule: after it another try can succeed. In milliseconds. */
const roomAfterMs = 1_000;

/** Bytes that one request holds. Its owner releases them. */
export interface BodyReservation {
  /** Takes so many bytes more, or throws and takes none. */
  grow(bytes: number): void;
  /**
   * Says that somebody works with the bytes. They are not given back before the returned function is called, not even
   * when their request is over: a caller who leaves must not make room that is not there.
   */
  hold(): () => void;
  /** Gives all of them back, as soon as nobody works with them. Twice is fine. */
  release(): void;
  /** Whether they are given back, or will be. */
  readonly isReleased: boolean;
}

/**
 * The bytes that a process holds for requests at a time: bodies, from the moment they are announced, or arrive, until
 * their accept is over, and what is read of stored inputs. A tenant has half of them, so that one cannot keep the others
 * out.
 */
export class BodyBudget {
  readonly #most: () => number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();

  /** @param most bytes in all, at this moment; at least twice those of the largest body, or a tenant could never send that. */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** Bytes held now, over all tenants. */
  get held(): number {
    return this.#held;
  }

  /**
   * Holds nothing yet; see `grow`.
   *
   * `grow` throws a {@link ServiceError}: `rate_limit_exceeded` when the tenant has its half, `server_is_overloaded` when
   * all is taken, `request_too_large` for what is more than half by itself.
   */
  open(tenant: string): BodyReservation {
    let held = 0;
    let holders = 0;
    let isReleased = false;
    const giveBack = () => {
      if (!isReleased || holders > 0) return;
      this.#giveBack(tenant, held);
      held = 0;
    };
    return {
      grow: (bytes) => {
        if (held + bytes > this.#most() / 2) throw tooLarge();
        this.#take(tenant, bytes);
        held += bytes;
      },
      hold: () => {
        let holds = 1;
        holders += 1;
        return () => {
          holders -= holds;
          holds = 0;
          giveBack();
        };
      },
      release: () => {
        isReleased = true;
        giveBack();
      },
      get isReleased() {
        return isReleased;
      },
    };
  }

  #take(tenant: string, bytes: number): void {
    const most = this.#most();
    const ofTenant = (this.#heldBy.get(tenant) ?? 0) + bytes;
    if (ofTenant > most / 2) {
      throw new ServiceError(
        'rate_limit_exceeded',
        `Too much for your requests is held in memory at once. Please try again in ${roomAfterMs / 1000}s.`,
        { retryAfterMs: roomAfterMs },
      );
    }
    if (this.#held + bytes > most) {
      throw new ServiceError(
        'server_is_overloaded',
        'Too much is held in memory at once. Please try again later.',
        { retryAfterMs: roomAfterMs },
      );
    }
    this.#heldBy.set(tenant, ofTenant);
    this.#held += bytes;
  }

  #giveBack(tenant: string, bytes: number): void {
    if (bytes === 0) return;
    const ofTenant = (this.#heldBy.get(tenant) ?? 0) - bytes;
    if (ofTenant > 0) this.#heldBy.set(tenant, ofTenant);
    else this.#heldBy.delete(tenant);
    this.#held -= bytes;
  }
}

/** No other try could succeed. */
function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The request and what it refers to are too large together.');
}
