import { Readable } from 'node:stream';

/** How long a reader may take nothing of what it is sent before its connection is closed, in milliseconds. */
export const defaultStalledMs = 30_000;

/**
 * What is written to a reader at once, in bytes: whoever takes less than this in the time above takes nothing. A larger
 * piece in one write would give no sign of life from a slow reader until all of it is gone.
 */
const sliceBytes = 64 * 1024;

/** Whether a text goes out in slices. Any that could fit into one is written as it is. */
export function isSliced(body: string | Buffer): boolean {
  return body.length > sliceBytes;
}

/** The slices of a body, in order and without copies. */
export function* slicesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += sliceBytes) yield body.subarray(at, at + sliceBytes);
}

/** A body that a reader is sent slice by slice, each once the one before it is taken. `onTaken` is called at each. */
export function slicedBody(body: Buffer, onTaken: () => void): Readable {
  const slices = slicesOf(body);
  return new Readable({
    highWaterMark: 1,
    read() {
      onTaken();
      const { value, done } = slices.next();
      this.push(done === true ? null : value);
    },
  });
}
