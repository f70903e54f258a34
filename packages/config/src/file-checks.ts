import type { Explanation } from './explain-issue.ts';

/** The most bytes that S3 takes in one call, which is how a file is written. */
const objectBytes = 5 * 2 ** 30;

interface FilesOutline {
  bytes?: number | undefined;
  folder?: string | undefined;
  bucket?: { accessKeyId?: string | undefined; secretAccessKey?: string | undefined } | undefined;
}

/** Checks where the files are, and that credentials are whole. */
export function checkFiles({ bytes = 0, folder, bucket }: FilesOutline): Explanation[] {
  const found: Explanation[] = [];
  if (!bucket) return found;
  const path = ['files', 'bucket'];
  if (folder !== undefined)
    found.push({ path, message: 'stands in place of `folder`; remove one of the two' });
  if (bytes > objectBytes)
    found.push({ path: ['files', 'bytes'], message: `is more than a bucket takes, which is ${objectBytes}` });
  const { accessKeyId, secretAccessKey } = bucket;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    const missing = accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey';
    const message = 'is missing; give both parts of the access key, or none of them';
    found.push({ path: [...path, missing], message });
  }
  return found;
}
