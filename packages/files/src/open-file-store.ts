import { join, resolve } from 'node:path';
import type { Logger } from '@sluice/runtime';
import type { BucketOptions } from './bucket/bucket-client.ts';
import { FileBucket } from './bucket/file-bucket.ts';
import { FileFolder } from './file-folder.ts';
import type { FileStore } from './file-store.ts';

/** The settings that say where files are. */
export interface FilePlace {
  files: { folder?: string; bucket?: BucketOptions & { prefix: string } };
  dataDir: string;
}

/** Opens the bucket of the settings, or the folder, where there is none. */
export function openFileStore({ files: { folder, bucket }, dataDir }: FilePlace, logger: Logger): FileStore {
  return bucket
    ? new FileBucket({ ...bucket, drafts: join(dataDir, 'drafts'), logger })
    : new FileFolder(folder === undefined ? join(dataDir, 'files') : resolve(folder));
}
