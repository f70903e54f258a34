export { FileBucket, type FileBucketOptions } from './bucket/file-bucket.ts';
export type { Draft } from './drafts.ts';
export { FileFolder } from './file-folder.ts';
export type { FileStore } from './file-store.ts';
export { fileNotFound, type FileLimits, Files, type FilesOptions, type NewFile } from './files.ts';
export { type FilePlace, openFileStore } from './open-file-store.ts';
export { isFileId, newFileId } from './stored-file.ts';
export { folderWork, type Work } from './work.ts';
