import { constants } from 'node:os';
import { ServiceError } from '@sluice/contract';
import { codeOf } from './absent.ts';

/** The answers of a file system that is broken, away, full or out of handles. A connection of a caller that breaks off has others. */
const codes: ReadonlySet<string | undefined> = new Set(
  'EACCES EIO EMFILE ENFILE ENODEV ENOSPC ENOTDIR ENXIO EPERM EROFS'.split(' '),
);

/** A full quota, and a file that a server has forgotten. Node has no names for them, and negates their numbers. */
const nameless: ReadonlySet<number> = new Set([-constants.errno.EDQUOT, -constants.errno.ESTALE]);

function isOfFileSystem(error: unknown): boolean {
  const { errno = 0 } = error as NodeJS.ErrnoException; // as Node names it
  return codes.has(codeOf(error)) || nameless.has(errno);
}

/** Tells a caller that files cannot be reached at the moment, when that is such an answer. Any other error is thrown as it is. */
export function toldWhenUnreachable(warn: (error: unknown) => void): (error: unknown) => never {
  return (error) => {
    if (!isOfFileSystem(error)) throw error;
    warn(error);
    throw new ServiceError('files_unavailable', { cause: error });
  };
}
