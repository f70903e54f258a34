import { filePurposes } from '@sluice/contract';
import { nameOfTenant } from '../file-folder.ts';
import { isFileId, type StoredFile } from '../stored-file.ts';

/**
 * The keys of the objects of a bucket. That of a file says all that is known of it but its length, which the list of a bucket says, too. So a
 * file is one object, which is there or not, and a tenant's files are one list.
 */
export interface BucketKeys {
  /** The beginning of the keys of all files. */
  files: string;
  /** The beginning of the keys of a tenant's files. */
  ofTenant: (tenant: string) => string;
  /** The beginning of the keys of a file: of one, unless two processes kept it at the same moment. */
  ofFile: (tenant: string, id: string) => string;
  of: (tenant: string, file: StoredFile) => string;
  /** The file of an object; undefined for an object of something else. */
  parse: (key: string, bytes: number) => StoredFile | undefined;
  /** The beginning of the keys of all work. */
  allWork: string;
  /** The beginning of the keys of what was saved of some work. */
  ofWork: (name: string) => string;
  /** Some bytes of a file of some work. Keys have the order of the bytes. */
  ofPiece: (work: string, name: string, bytes: { from: number; to: number }) => string;
  /** The file of a piece, and its first byte there. */
  parsePiece: (key: string) => { name: string; from: number };
}

/** Most characters of a part of a key: servers that keep objects as files take 255. */
const longestPart = 200;

/** @param prefix starts every key. */
export function bucketKeys(prefix: string): BucketKeys {
  const files = `${prefix}files/`;
  const allWork = `${prefix}work/`;
  const ofTenant = (tenant: string) => `${files}${nameOfTenant(tenant)}/`;
  const ofFile = (tenant: string, id: string) => {
    if (!isFileId(id)) throw new TypeError('Not the id of a file');
    return `${ofTenant(tenant)}${id}/`;
  };
  const ofWork = (name: string) => `${allWork}${name}/`;
  return {
    files,
    ofTenant,
    ofFile,
    of: (tenant, { id, createdAt, expiresAt = 0, purpose, name }) =>
      `${ofFile(tenant, id)}${createdAt}-${expiresAt}-${purpose}/${printName(name)}`,
    parse: (key, bytes) => parseFile(key.slice(files.length), bytes),
    allWork,
    ofWork,
    ofPiece: (work, name, { from, to }) => `${ofWork(work)}${name}/${padded(from)}-${padded(to)}`,
    parsePiece(key) {
      const [name = '', bytes = ''] = key.split('/').slice(-2);
      return { name, from: Number(bytes.split('-')[0]) };
    },
  };
}

const padded = (bytes: number): string => String(bytes).padStart(15, '0');

function parseFile(key: string, bytes: number): StoredFile | undefined {
  const [, id = '', createdAt, expiresAt, word, name = ''] =
    /^[0-9a-f]{32}\/([^/]+)\/(\d+)-(\d+)-(\w+)\/([\w/-]+)$/.exec(key) ?? [];
  const purpose = filePurposes.find((each) => each === word);
  if (!isFileId(id) || purpose === undefined) return undefined;
  return {
    id,
    name: parseName(name),
    purpose,
    bytes,
    createdAt: Number(createdAt),
    expiresAt: Number(expiresAt) || undefined,
  };
}

/** A name may have any characters, and may be empty, which no part of a key may be. */
function printName(name: string): string {
  const text = Buffer.from(`/${name}`).toString('base64url');
  return (text.match(new RegExp(`.{1,${longestPart}}`, 'g')) ?? []).join('/');
}

function parseName(text: string): string {
  return Buffer.from(text.replaceAll('/', ''), 'base64url').toString('utf8').slice(1);
}
