import {
  type FileObject,
  fileIdPrefix,
  type FilePurpose,
  filePurposes,
  randomSuffix,
} from '@sluice/contract';
import { randomBytes } from '@sluice/runtime';

/** The description beside the content of a file. Times are milliseconds since 1970. */
export interface StoredFile {
  id: string;
  name: string;
  purpose: FilePurpose;
  bytes: number;
  createdAt: number;
  /** Undefined when it stays until it is deleted. */
  expiresAt: number | undefined;
}

export function newFileId(): string {
  return fileIdPrefix + randomSuffix(randomBytes);
}

/** Whether a text has the shape of the id of a file, which is the name of one, too. */
export function isFileId(text: string): boolean {
  return /^file-[A-Za-z0-9]{32}$/.test(text);
}

export function isExpired({ expiresAt }: StoredFile, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

export function presentFile({ id, bytes, createdAt, expiresAt, name, purpose }: StoredFile): FileObject {
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(createdAt / 1_000),
    ...(expiresAt !== undefined && { expires_at: Math.floor(expiresAt / 1_000) }),
    filename: name,
    purpose,
    status: 'processed',
  };
}

/** Undefined for what is none, or of a release that writes other files. */
export function parseStoredFile(text: string): StoredFile | undefined {
  try {
    const value = JSON.parse(text) as Partial<StoredFile>; // looked at below
    const { id = '', name, bytes, createdAt, expiresAt } = value;
    const purpose = filePurposes.find((each) => each === value.purpose);
    if (!isFileId(id) || purpose === undefined) return undefined;
    if (typeof name !== 'string' || typeof bytes !== 'number' || typeof createdAt !== 'number')
      return undefined;
    return {
      id,
      name,
      purpose,
      bytes,
      createdAt,
      expiresAt: typeof expiresAt === 'number' ? expiresAt : undefined,
    };
  } catch {
    return undefined;
  }
}
