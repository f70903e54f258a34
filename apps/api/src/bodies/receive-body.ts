import type { Readable } from 'node:stream';
import { ServiceError } from '@sluice/contract';
import type { BodyReservation } from './body-budget.ts';

export interface ReceiveOptions {
  /** The value of `content-length`; undefined for a body in chunks. */
  length: number | undefined;
  /** Most bytes it may have. */
  most: number;
  reservation: BodyReservation;
}

/** Room for a body whose length is not known, at first. */
const firstRoom = 16 * 1024;

/**
 * Reads a body into one buffer of its own, which can be transferred. Chunks are copied as they come, since one byte of a
 * chunked body can arrive in a buffer of its own. The bytes are reserved before there is room for them.
 *
 * Calls `done` once, with an error when the body is too large, breaks off, or is refused by the reservation.
 */
export function receiveBody(
  payload: Readable,
  { length, most, reservation }: ReceiveOptions,
  done: (error: Error | null, body?: Buffer<ArrayBuffer>) => void,
): void {
  let room: Buffer<ArrayBuffer>;
  let received = 0;
  const makeRoom = (bytes: number, held: number) => {
    if (bytes > most) throw new ServiceError('request_too_large');
    reservation.grow(bytes - held);
    return Buffer.allocUnsafeSlow(bytes);
  };
  // The rest of a refused request flows on unread.
  const settle = (error: Error | null, body?: Buffer<ArrayBuffer>) => {
    payload.off('data', onData);
    payload.off('end', onEnd);
    payload.off('error', settle);
    done(error, body);
  };
  const onData = (chunk: Buffer) => {
    try {
      const needed = received + chunk.length;
      if (needed > room.length) {
        if (length !== undefined) throw wrongLength();
        const larger = makeRoom(Math.max(needed, Math.min(2 * room.length, most)), room.length);
        room.copy(larger, 0, 0, received);
        room = larger;
      }
      received += chunk.copy(room, received);
    } catch (error) {
      settle(error as Error); // only errors are thrown above
    }
  };
  const onEnd = () => {
    if (length !== undefined && received !== length) settle(wrongLength());
    else settle(null, room.subarray(0, received));
  };
  try {
    room = makeRoom(length ?? Math.min(firstRoom, most), 0);
  } catch (error) {
    done(error as Error); // only errors are thrown above
    return;
  }
  payload.on('data', onData);
  payload.on('end', onEnd);
  payload.on('error', settle);
}

function wrongLength(): ServiceError {
  return new ServiceError('invalid_request', 'The body is not as long as its content-length says.');
}
