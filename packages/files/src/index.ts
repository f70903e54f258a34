export { type Draft, FileFolder } from './file-folder.ts';
export { fileNotFound, type FileLimits, Files, type FilesOptions, type NewFile } from './files.ts';
export { isFileId, newFileId } from './stored-file.ts';
