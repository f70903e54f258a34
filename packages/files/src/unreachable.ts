import { ServiceError } from '@sluice/contract';
import { codeOf } from './absent.ts';

/** The answers of a file system that is full, broken, away or out of handles. A connection of a caller that breaks off has other codes. */
const codes: ReadonlySet<string | undefined> = new Set(
  'EACCES EDQUOT EIO EMFILE ENFILE ENODEV ENOSPC ENOTDIR ENXIO EPERM EROFS ESTALE'.split(' '),
);

/** What a caller is told of such an answer: that files cannot be reached at the moment. Any other error is thrown as it is. */
export function toldWhenUnreachable(warn: (error: unknown) => void): (error: unknown) => never {
  return (error) => {
    if (error instanceof ServiceError || !codes.has(codeOf(error))) throw error;
    warn(error);
    throw new ServiceError('files_unavailable', { cause: error });
  };
}
