import { z } from 'zod';
import { pageOf } from './pages.ts';
import { anyId, choice, member, pageLimit } from './request-parts.ts';

/** Files, in the form of OpenAI's API (https://platform.openai.com/docs/api-reference/files). */

/** The purposes of an upload. */
export const uploadPurposes = ['batch', 'user_data'] as const;

/** The purposes of all files, those of the service among them. */
export const filePurposes = [...uploadPurposes, 'batch_output'] as const;
export type FilePurpose = (typeof filePurposes)[number];

export const fileIdPrefix = 'file-';

export const fileSchema = z.object({
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int().min(0),
  created_at: z.int(),
  /** Absent when it stays until it is deleted. */
  expires_at: z.int().optional(),
  filename: z.string(),
  purpose: z.enum(filePurposes),
  /** A file is there once it is whole. */
  status: z.literal('processed'),
});
export type FileObject = z.infer<typeof fileSchema>;

export const fileListSchema = pageOf(fileSchema);

export const deletedFileSchema = z.object({
  id: z.string(),
  object: z.literal('file'),
  deleted: z.literal(true),
});

/** The fields of an upload, as a form gives them; `file` is its content. */
export const uploadFieldsSchema = z.strictObject({
  purpose: z.enum(uploadPurposes),
  'expires_after[anchor]': z.literal('created_at').optional(),
  'expires_after[seconds]': member(z.int().min(3_600).max(2_592_000), (value, refuse) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value)
      ? Number(value)
      : refuse("'expires_after[seconds]' must be a whole number."),
  ).optional(),
});

export const listFilesQuerySchema = z.object({
  limit: pageLimit({ most: 10_000, usual: 10_000 }),
  order: choice('order', ['desc', 'asc']),
  after: anyId().optional(),
  purpose: z.enum(filePurposes).optional(),
});
export type ListFilesQuery = z.output<typeof listFilesQuerySchema>;
