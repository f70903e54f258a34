import { Readable } from 'node:stream';
import type { BucketClient, BucketObject } from './bucket-client.ts';

/**
 * How many bytes are asked for at a time. A reader that is slow holds these, and no connection of the bucket, which would be cut before a batch
 * had read its input to the end.
 */
const pieceBytes = 1024 * 1024;

/** The content of an object, piece by piece as it is read. Ends with `files_unavailable` when the object goes meanwhile. */
export function readObject(
  client: BucketClient,
  { key, bytes }: Pick<BucketObject, 'key' | 'bytes'>,
): Readable {
  return Readable.from(pieces(client, key, bytes), { objectMode: false, highWaterMark: 1 });
}

async function* pieces(client: BucketClient, key: string, bytes: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes; from += pieceBytes) {
    yield await client.get(key, { from, to: Math.min(from + pieceBytes, bytes) });
  }
}
