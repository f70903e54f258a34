import { createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { orNone } from '../absent.ts';
import type { Work } from '../work.ts';
import type { BucketClient, BucketObject } from './bucket-client.ts';
import type { BucketKeys } from './bucket-keys.ts';
import { pieceBytes, readObject } from './read-object.ts';

/** How many pieces are asked for at a time. */
const fetchedAtOnce = 8;

interface BucketOfWork {
  client: BucketClient;
  keys: BucketKeys;
  signal?: AbortSignal | undefined;
}

/**
 * Opens work in a folder of this machine, whose files are saved piece by piece as objects, and fetches what was saved of it. Each file must have a
 * name that no other process gives to one. Rejects with the reason of the signal when that is aborted before all is fetched.
 */
export async function openBucketWork(
  name: string,
  path: string,
  { client, keys, signal }: BucketOfWork,
): Promise<Work> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const removeFolder = () => rm(path, { recursive: true, force: true });
  try {
    await fetchPieces(name, path, { client, keys, signal });
  } catch (error) {
    await removeFolder();
    throw error;
  }
  /** How many bytes of each file are saved. */
  const saved = new Map<string, number>();
  return {
    path,
    async save(file, bytes, saving) {
      const from = saved.get(file) ?? 0;
      if (bytes <= from) return;
      const piece = { from, to: bytes };
      await client.put(keys.ofPiece(name, file, piece), join(path, file), piece, saving);
      saved.set(file, bytes);
    },
    async drop(file, dropping) {
      try {
        await client.removeAll(`${keys.ofWork(name)}${file}/`, dropping);
      } finally {
        await rm(join(path, file), { force: true });
      }
    },
    leave: removeFolder,
  };
}

/** Adds all pieces to their files, one after the other, and asks for a few ahead: there may be thousands of them. */
async function fetchPieces(name: string, path: string, bucket: BucketOfWork): Promise<void> {
  const { client, keys, signal } = bucket;
  const asked: { piece: BucketObject; start: Promise<Uint8Array> }[] = [];
  const addFirst = async () => {
    const first = asked.shift();
    if (first) await addPiece(first, path, bucket);
  };
  for await (const piece of client.list(keys.ofWork(name), signal)) {
    const start = client.get(piece.key, { from: 0, to: Math.min(piece.bytes, pieceBytes) }, signal);
    start.catch(() => undefined); // told when its turn comes
    asked.push({ piece, start });
    if (asked.length === fetchedAtOnce) await addFirst();
  }
  while (asked.length > 0) await addFirst();
}

/**
 * Adds a piece to its file. Pieces come in the order of their first bytes. One may begin before the last one ended: a write of it was given up, and
 * arrived all the same.
 */
async function addPiece(
  { piece, start }: { piece: BucketObject; start: Promise<Uint8Array> },
  path: string,
  { client, keys, signal }: BucketOfWork,
): Promise<void> {
  const { name, from } = keys.parsePiece(piece.key);
  const file = join(path, name);
  const { size = 0 } = (await stat(file).catch(orNone)) ?? {};
  const known = Math.max(0, size - from);
  if (piece.bytes <= known) return;
  const content = async function* () {
    const first = await start;
    if (known < first.length) yield first.subarray(known);
    yield* readObject(client, piece, { from: Math.max(known, first.length), signal });
  };
  await pipeline(Readable.from(content()), createWriteStream(file, { flags: 'a', mode: 0o600 }));
}
