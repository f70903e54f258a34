import { ServiceError } from '@sluice/contract';

/** Bodies are read and accepted in less than this, as a rule: after it another try can succeed. In milliseconds. */
const roomAfterMs = 1_000;

/** Bytes that one request holds. Its owner releases them. */
export interface BodyReservation {
  /** Takes so many bytes more, or throws and takes none. */
  grow(bytes: number): void;
  /**
   * Takes so many bytes more once there is room for them, in the order in which a tenant asks. What is more than a tenant
   * may hold waits until it holds nothing else. Rejects with the reason of the signal.
   */
  growInTurn(bytes: number, signal: AbortSignal): Promise<void>;
  /**
   * Pins the bytes while somebody works with them. They are not freed before the returned function unpins them, not even
   * when their request is over: a caller who leaves must not make room that is not there.
   */
  pin(): () => void;
  /** Frees all of them, and what is taken afterwards, as soon as nobody has them pinned. Safe to call twice. */
  release(): void;
  /** Whether they are freed, or will be. */
  readonly isReleased: boolean;
}

/** The room of all reservations. */
interface Room {
  /** Throws for what is more than a tenant may ever hold. */
  checkSize(bytes: number): void;
  /** Takes so many bytes, or throws and takes none. */
  take(tenant: string, bytes: number): void;
  /** Takes so many bytes in their turn, and says how many those are. */
  takeInTurn(tenant: string, bytes: number, signal: AbortSignal): Promise<number>;
  giveBack(tenant: string, bytes: number): void;
}

/** There is one for each open stream, so it is small. */
class Reservation implements BodyReservation {
  readonly #tenant: string;
  readonly #room: Room;
  #held = 0;
  #pins = 0;
  #isReleased = false;

  constructor(tenant: string, room: Room) {
    this.#tenant = tenant;
    this.#room = room;
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  grow(bytes: number): void {
    this.#room.checkSize(this.#held + bytes);
    this.#room.take(this.#tenant, bytes);
    this.#held += bytes;
    this.#giveBack();
  }

  async growInTurn(bytes: number, signal: AbortSignal): Promise<void> {
    const taken = await this.#room.takeInTurn(this.#tenant, bytes, signal);
    this.#held += taken;
    this.#giveBack();
  }

  pin(): () => void {
    let own = 1;
    this.#pins += 1;
    return () => {
      this.#pins -= own;
      own = 0;
      this.#giveBack();
    };
  }

  release(): void {
    this.#isReleased = true;
    this.#giveBack();
  }

  #giveBack(): void {
    if (!this.#isReleased || this.#pins > 0) return;
    this.#room.giveBack(this.#tenant, this.#held);
    this.#held = 0;
  }
}

/**
 * The bytes that a process holds for requests at a time: bodies, from the moment they are announced, or arrive, until
 * their accept is over, and what is read of stored inputs and answers. A tenant has half of them, so that one cannot keep the others
 * out.
 */
export class BodyBudget {
  readonly #most: () => number;
  #held = 0;
  readonly #heldBy = new Map<string, number>();
  /** Those who wait for room. The tenant that was served last is the last one here. */
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #room: Room = {
    checkSize: (bytes) => {
      if (bytes > this.#most() / 2) throw tooLarge();
    },
    take: (tenant, bytes) => this.#take(tenant, bytes),
    takeInTurn: (tenant, bytes, signal) => this.#takeInTurn(tenant, bytes, signal),
    giveBack: (tenant, bytes) => this.#giveBack(tenant, bytes),
  };

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
    return new Reservation(tenant, this.#room);
  }

  /** Why a tenant cannot have so many bytes more now; undefined when it can. */
  refusal(tenant: string, bytes: number): ServiceError | undefined {
    const most = this.#most();
    if ((this.#heldBy.get(tenant) ?? 0) + bytes > most / 2) {
      return new ServiceError(
        'rate_limit_exceeded',
        `Too much for your requests is held in memory at once. Please try again in ${roomAfterMs / 1000}s.`,
        { retryAfterMs: roomAfterMs },
      );
    }
    if (this.#held + bytes > most) {
      return new ServiceError(
        'server_is_overloaded',
        'Too much is held in memory at once. Please try again later.',
        { retryAfterMs: roomAfterMs },
      );
    }
    return undefined;
  }

  #take(tenant: string, bytes: number): void {
    const refusal = this.refusal(tenant, bytes);
    if (refusal) throw refusal;
    this.#heldBy.set(tenant, (this.#heldBy.get(tenant) ?? 0) + bytes);
    this.#held += bytes;
  }

  async #takeInTurn(tenant: string, bytes: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const waiter = { bytes, resolve };
    const line = this.#waiting.get(tenant) ?? [];
    this.#waiting.set(tenant, line);
    line.push(waiter);
    const leave = () => {
      const place = line.indexOf(waiter);
      if (place < 0) return;
      line.splice(place, 1);
      reject(signal.reason);
      this.#serve();
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#serve();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  /** Serves the first of each tenant as far as there is room, and one of each before a second of any. */
  #serve(): void {
    for (const [tenant, line] of this.#waiting) {
      const [first] = line;
      const bytes = Math.min(first?.bytes ?? 0, Math.floor(this.#most() / 2));
      if (first && this.refusal(tenant, bytes)) continue;
      this.#waiting.delete(tenant);
      if (!first) continue;
      this.#take(tenant, bytes);
      line.shift();
      first.resolve(bytes);
      // Behind all others, where this loop gets to it again.
      if (line.length > 0) this.#waiting.set(tenant, line);
    }
  }

  #giveBack(tenant: string, bytes: number): void {
    if (bytes === 0) return;
    const ofTenant = (this.#heldBy.get(tenant) ?? 0) - bytes;
    if (ofTenant > 0) this.#heldBy.set(tenant, ofTenant);
    else this.#heldBy.delete(tenant);
    this.#held -= bytes;
    if (this.#waiting.size > 0) this.#serve();
  }
}

interface Waiter {
  bytes: number;
  resolve: (taken: number) => void;
}

/** No other try could succeed. */
function tooLarge(): ServiceError {
  return new ServiceError('request_too_large', 'The request and what it refers to are too large together.');
}
