import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { rm } from 'node:fs/promises';
import type { Settings } from '@sluice/config';
import { type FileStore, newFileId, openFileStore } from '@sluice/files';
import { createLogger } from '@sluice/runtime';
import { bad, type Finding, good } from './finding.ts';

/** A tenant whom no key can name. */
const nobody = ' sluice doctor';

/** Writes a small file where the files of tenants are, reads it, and takes it away. Nothing where files are switched off. */
export async function checkFiles(settings: Pick<Settings, 'files' | 'dataDir'>): Promise<Finding[]> {
  const { enabled, bucket } = settings.files;
  if (!enabled) return [];
  const subject = 'files';
  const place = bucket
    ? `the bucket '${bucket.name}' at ${bucket.endpoint ?? `AWS in ${bucket.region}`}`
    : 'the folder';
  try {
    await writeAndRead(openFileStore(settings, createLogger({ name: 'doctor', level: 'silent' })));
    return [good(subject, `${place} takes a file, gives it back and lets it go`)];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [
      bad(subject, `${place} cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`),
    ];
  }
}

async function writeAndRead(store: FileStore): Promise<void> {
  const draft = await store.write(Readable.from(['sluice']), (source) => source);
  const id = newFileId();
  try {
    const about = { id, name: 'doctor', purpose: 'user_data' as const, bytes: draft.bytes };
    await store.keep(nobody, { ...about, createdAt: Date.now(), expiresAt: Date.now() + 60_000 }, draft);
    const file = await store.find(nobody, id);
    if (!file || (await text(await store.read(nobody, file))) !== 'sluice')
      throw new Error('it lost a file at once');
  } finally {
    await rm(draft.path, { force: true });
    await store.remove(nobody, id).catch(() => undefined); // it expires
  }
}
