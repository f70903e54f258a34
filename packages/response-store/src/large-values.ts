import { ServiceError } from '@sluice/contract';
import type { LargeValueConnection } from './record/connection.ts';

/** A value of more bytes than this goes over the connection for large values, not over the one for commands. */
export const largeFrom = 64 * 1024;

/**
 * A value goes in pieces of this many bytes, few of them at once: the store answers others in between. One `SET` of 60 MB
 * held up a Redis with an append-only file for 330 ms, and one `GET` for 140 ms. Beside four values of 55 MB from one api, a
 * small accept took some 3 ms in the median with these numbers, and 25 ms with pieces of 1 MiB and 8 MiB of them at once.
 */
const pieceBytes = 256 * 1024;

/** Most bytes that are under way at once. What is longer and cannot be cut goes alone. */
const mostUnderWay = 2 * pieceBytes;

/** Time that each piece has, in milliseconds, beside what it and all before it take at the slowest rate. */
const leastMs = 1_000;
const slowestBytesPerMs = 8 * 1024;

const tooSlow = 'A large request takes too long to be stored. Please try again later.';

interface Transfer {
  bytes: number;
  start: () => void;
}

/**
 * Large values on their way to the store and back, over a connection of their own: commands of others never wait behind
 * one.
 *
 * Pieces go in order, few bytes at once, so that values share the connection. A value that finds too many bytes in line is
 * refused with `server_is_overloaded`. So is one whose piece gets no answer within the time that the line allows; the
 * connection is then cut, so nothing hangs behind it. What was written by then expires.
 */
export class LargeValues {
  readonly #redis: LargeValueConnection;
  readonly #mostInLine: number;
  readonly #waiting: Transfer[] = [];
  #inLine = 0;
  #underWay = 0;

  /** `mostInLine` bounds the bytes of all values that are under way or wait; by default nothing does. */
  constructor(redis: LargeValueConnection, mostInLine: number = Number.POSITIVE_INFINITY) {
    this.#redis = redis;
    this.#mostInLine = mostInLine;
  }

  /**
   * Writes a value, in parts, that expires in so many milliseconds unless a script keeps it. Every piece renews the expiry,
   * so one that comes late, when the value was given up and deleted, leaves nothing for ever.
   */
  async write(key: string, parts: readonly Buffer[], expiryMs: number): Promise<void> {
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    const [first, ...others] = parts.flatMap(piecesOf);
    if (!first) throw new TypeError('A large value has no bytes');
    await this.#inTurn(bytes, async () => {
      if (others.length === 0) {
        await this.#send(bytes, (redis) => redis.set(key, first, 'PX', expiryMs));
        return;
      }
      // From its end: the first piece makes room for all, so the store neither copies a value that grows nor keeps room for more.
      let from = bytes;
      for (const piece of [first, ...others].toReversed()) {
        from -= piece.length;
        const at = from;
        const put = (redis: LargeValueConnection) => {
          const steps = redis.multi();
          if (at + piece.length === bytes) steps.del(key);
          return steps.setrange(key, at, piece).pexpire(key, expiryMs).exec();
        };
        const replies = await this.#send(piece.length, put);
        // It expired or was deleted meanwhile, or the piece was refused.
        if (replies?.at(-2)?.[1] !== bytes) throw overloaded(tooSlow);
      }
    });
  }

  /** So many bytes of a value from a position on; undefined when they are not there, or no longer. */
  read(key: string, from: number, bytes: number): Promise<Buffer<ArrayBuffer> | undefined> {
    return this.#inTurn(bytes, async () => {
      const value = Buffer.allocUnsafeSlow(bytes);
      for (let at = from; at < from + bytes; ) {
        const wanted = Math.min(pieceBytes, from + bytes - at);
        const piece = await this.#send(wanted, (redis) => redis.getrangeBuffer(key, at, at + wanted - 1));
        if (piece.length < wanted) return undefined;
        piece.copy(value, at - from);
        at += wanted;
      }
      return value;
    });
  }

  /** Sends a command that carries so many bytes and cannot be cut, when its turn has come. */
  transfer<Result>(
    bytes: number,
    command: (redis: LargeValueConnection) => Promise<Result>,
  ): Promise<Result> {
    return this.#inTurn(bytes, () => this.#send(bytes, command));
  }

  /** Moves a value of so many bytes, unless too many are in line already. */
  async #inTurn<Result>(bytes: number, move: () => Promise<Result>): Promise<Result> {
    if (this.#inLine > 0 && this.#inLine + bytes > this.#mostInLine) {
      throw overloaded('Too many large requests are under way. Please try again later.');
    }
    this.#inLine += bytes;
    try {
      return await move();
    } finally {
      this.#inLine -= bytes;
    }
  }

  #send<Result>(bytes: number, command: (redis: LargeValueConnection) => Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const transfer: Transfer = {
      bytes,
      start: () => {
        this.#underWay += bytes;
        void command(this.#redis)
          .then(resolve, reject)
          .finally(() => {
            clearTimeout(timer);
            this.#underWay -= bytes;
            this.#startNext();
          });
      },
    };
    const timer = setTimeout(
      () => {
        reject(overloaded(tooSlow));
        const place = this.#waiting.indexOf(transfer);
        if (place < 0) return this.#redis.disconnect(true);
        this.#waiting.splice(place, 1);
        this.#startNext();
      },
      leastMs + this.#inLine / slowestBytesPerMs,
    );
    this.#waiting.push(transfer);
    this.#startNext();
    return promise;
  }

  #startNext(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#underWay > 0 && this.#underWay + next.bytes > mostUnderWay) return;
      this.#waiting.shift();
      next.start();
    }
  }
}

function piecesOf(part: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < part.length; at += pieceBytes) pieces.push(part.subarray(at, at + pieceBytes));
  return pieces;
}

function overloaded(message: string): ServiceError {
  return new ServiceError('server_is_overloaded', message);
}
