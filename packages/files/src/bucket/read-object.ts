import { Readable } from 'node:stream';
import type { BucketClient, BucketObject } from './bucket-client.ts';

/**
 * How many bytes are asked for at a time. A reader that is slow holds these, and no connection of the bucket, which would be cut before a batch
 * had read its input to the end.
 */
export const pieceBytes = 1024 * 1024;

/** The memory that a reader of an object keeps: a piece that it is sent, one that waits for it on the way, and one that is read ahead. */
export const readerBytes = 3 * pieceBytes;

/** The content of an object from a byte on, piece by piece as it is read. Ends with `files_unavailable` when the object goes meanwhile. */
export function readObject(
  client: BucketClient,
  { key, bytes }: Pick<BucketObject, 'key' | 'bytes'>,
  { from = 0, signal }: { from?: number; signal?: AbortSignal | undefined } = {},
): Readable {
  return Readable.from(pieces(client, key, { from, bytes, signal }), { objectMode: false, highWaterMark: 1 });
}

async function* pieces(
  client: BucketClient,
  key: string,
  { from, bytes, signal }: { from: number; bytes: number; signal: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  for (let at = from; at < bytes; at += pieceBytes) {
    yield await client.get(key, { from: at, to: Math.min(at + pieceBytes, bytes) }, signal);
  }
}
