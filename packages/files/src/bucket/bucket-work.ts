import { createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { orNone } from '../absent.ts';
import type { Work } from '../work.ts';
import type { BucketClient, BucketObject } from './bucket-client.ts';
import type { BucketKeys } from './bucket-keys.ts';
import { readObject } from './read-object.ts';

/**
 * Opens work in a folder of this machine, whose files are saved piece by piece as objects, and fetches what was saved of it. Each file must have a
 * name that no other process gives to one.
 */
export async function openBucketWork(
  name: string,
  path: string,
  { client, keys }: { client: BucketClient; keys: BucketKeys },
): Promise<Work> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const removeFolder = () => rm(path, { recursive: true, force: true });
  try {
    for await (const piece of client.list(keys.ofWork(name))) await fetchPiece(piece, path, { client, keys });
  } catch (error) {
    await removeFolder();
    throw error;
  }
  /** How many bytes of each file are saved. */
  const saved = new Map<string, number>();
  return {
    path,
    async save(file, bytes) {
      const from = saved.get(file) ?? 0;
      if (bytes <= from) return;
      await client.put(keys.ofPiece(name, file, { from, to: bytes }), join(path, file), { from, to: bytes });
      saved.set(file, bytes);
    },
    async drop(file) {
      await client.removeAll(`${keys.ofWork(name)}${file}/`);
      await rm(join(path, file), { force: true });
    },
    leave: removeFolder,
  };
}

/**
 * Adds a piece to its file. Pieces come in the order of their first bytes. One may begin before the last one ended: a write of it was given up, and
 * arrived all the same.
 */
async function fetchPiece(
  piece: BucketObject,
  path: string,
  { client, keys }: { client: BucketClient; keys: BucketKeys },
): Promise<void> {
  const { name, from } = keys.parsePiece(piece.key);
  const file = join(path, name);
  const { size = 0 } = (await stat(file).catch(orNone)) ?? {};
  if (from + piece.bytes <= size) return;
  const rest = readObject(client, piece, size - from);
  await pipeline(rest, createWriteStream(file, { flags: 'a', mode: 0o600 }));
}
