import {
  deletedFileSchema,
  type ErrorCode,
  fileListSchema,
  fileSchema,
  listFilesQuerySchema,
  parsePart,
  presentPage,
  responseParamsSchema,
  ServiceError,
  uploadFieldsSchema,
} from '@sluice/contract';
import type { Files } from '@sluice/files';
import type { z } from 'zod';
import type { BodyBudget } from '../bodies/body-budget.ts';
import { readForm } from '../bodies/read-form.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveDownload } from '../plugins/downloads.ts';
import { anyErrors, defineRoute, json, pageErrors } from '../route.ts';

export interface FilesContext {
  /** Undefined where files are switched off. */
  files: Files | undefined;
}

interface FileContentContext extends FilesContext {
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

/** Most bytes of a file of a batch. */
const batchBytes = 200 * 1024 * 1024;

const readErrors = [...anyErrors, 'files_off', 'files_unavailable'] as const satisfies ErrorCode[];
const params = responseParamsSchema;

export function filesOf({ files }: FilesContext): Files {
  if (!files) throw new ServiceError('files_off');
  return files;
}

export const createFile = defineRoute({
  name: 'createFile',
  method: 'POST',
  path: '/files',
  summary: 'Uploads a file, as a form with the parts `purpose` and `file`.',
  form: { schema: uploadFieldsSchema },
  answers: [json(fileSchema)],
  errors: [
    ...readErrors,
    'unsupported_media_type',
    'request_too_large',
    'missing_required_parameter',
    'invalid_type',
    'invalid_value',
    'integer_below_min_value',
    'integer_above_max_value',
    'unsupported_parameter',
    'file_limit_reached',
  ],
  async handle({ request }, context: FilesContext) {
    const files = filesOf(context);
    const tenant = request.key.name;
    const { fields, file } = await readForm(
      request,
      (content) => files.receive(tenant, content, Number(request.headers['content-length'] ?? 0)),
      (draft) => files.drop(draft),
    );
    const { received: draft } = file;
    try {
      const asked = parsePart(uploadFieldsSchema, fields);
      checkContent(asked, { name: file.name, bytes: draft.bytes });
      const expiresAfterSeconds = asked['expires_after[seconds]'];
      return await files.keep(
        tenant,
        { name: file.name, purpose: asked.purpose, expiresAfterSeconds },
        draft,
      );
    } finally {
      await files.drop(draft);
    }
  },
});

function checkContent(
  { purpose }: Pick<z.output<typeof uploadFieldsSchema>, 'purpose'>,
  { name, bytes }: { name: string; bytes: number },
): void {
  if (bytes === 0) throw new ServiceError('invalid_value', 'The file is empty.', { param: 'file' });
  if (purpose !== 'batch') return;
  if (!/\.jsonl$/i.test(name))
    throw new ServiceError('invalid_value', "The name of a batch's file must end in .jsonl.", {
      param: 'file',
    });
  if (bytes > batchBytes)
    throw new ServiceError('request_too_large', `A file of a batch has ${batchBytes} bytes at most.`, {
      param: 'file',
    });
}

export const listFiles = defineRoute({
  name: 'listFiles',
  method: 'GET',
  path: '/files',
  summary: "The tenant's files, the newest first.",
  query: listFilesQuerySchema,
  answers: [json(fileListSchema)],
  errors: [...readErrors, ...pageErrors],
  async handle({ query, request }, context: FilesContext) {
    return presentPage(await filesOf(context).list(request.key.name, query));
  },
});

export const getFile = defineRoute({
  name: 'getFile',
  method: 'GET',
  path: '/files/:id',
  summary: 'A file, without its content.',
  params,
  answers: [json(fileSchema)],
  errors: [...readErrors, 'not_found'],
  handle: ({ params: { id }, request }, context: FilesContext) => filesOf(context).get(request.key.name, id),
});

export const getFileContent = defineRoute({
  name: 'getFileContent',
  method: 'GET',
  path: '/files/:id/content',
  summary: 'The content of a file.',
  params,
  answers: [{ status: 200, description: 'The bytes of the file.' }],
  errors: [...readErrors, 'not_found'],
  handle({ params: { id }, request, reply }, context: FileContentContext) {
    const files = filesOf(context);
    const { open, bodyBudget } = context;
    return serveDownload({ request, reply, open, bodyBudget }, async ({ keep }) => {
      const { file, content } = await files.read(request.key.name, id, keep);
      // A browser must not take what somebody has uploaded for a page of this service.
      const headers = {
        'content-type': 'application/octet-stream',
        'content-length': String(file.bytes),
        'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file.filename)}`,
        'x-content-type-options': 'nosniff',
      };
      return { headers, content };
    });
  },
});

export const deleteFile = defineRoute({
  name: 'deleteFile',
  method: 'DELETE',
  path: '/files/:id',
  summary: 'Takes a file away for good.',
  params,
  answers: [json(deletedFileSchema)],
  errors: [...readErrors, 'not_found'],
  async handle({ params: { id }, request }, context: FilesContext) {
    await filesOf(context).remove(request.key.name, id);
    return { id, object: 'file', deleted: true };
  },
});

export const fileRoutes = [createFile, listFiles, getFile, getFileContent, deleteFile];
