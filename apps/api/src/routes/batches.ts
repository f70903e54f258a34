import type { Batches } from '@sluice/batches';
import {
  batchListSchema,
  batchSchema,
  createBatchSchema,
  type ErrorCode,
  listBatchesQuerySchema,
  presentPage,
  responseParamsSchema,
  ServiceError,
} from '@sluice/contract';
import { smallBody } from '../bodies/small-body.ts';
import { storedNameOf } from '../key-names.ts';
import { anyErrors, bodyErrors, defineRoute, json, pageErrors } from '../route.ts';

export interface BatchesContext {
  /** Undefined where files are switched off. */
  batches: Batches | undefined;
}

/** A body here has a few names, and metadata. */
const mostBytes = 64 * 1024;

const readErrors = [...anyErrors, 'files_off', 'files_unavailable'] as const satisfies ErrorCode[];
const params = responseParamsSchema;
const example = {
  input_file_id: 'file-abc',
  endpoint: '/v1/responses' as const,
  completion_window: '24h' as const,
};

function batchesOf({ batches }: BatchesContext): Batches {
  if (!batches) throw new ServiceError('files_off');
  return batches;
}

export const createBatch = defineRoute({
  name: 'createBatch',
  method: 'POST',
  path: '/batches',
  summary: 'Runs each line of a file as a response, within a day, and makes a file of the answers.',
  body: smallBody(createBatchSchema, example, { mostBytes }),
  isRead: true,
  answers: [json(batchSchema)],
  errors: [
    ...readErrors,
    ...bodyErrors,
    'missing_required_parameter',
    'invalid_type',
    'invalid_value',
    'integer_below_min_value',
    'integer_above_max_value',
    'unsupported_parameter',
    'string_above_max_length',
    'batch_limit_reached',
    'file_limit_reached',
  ],
  handle: ({ body, request }, context: BatchesContext) =>
    batchesOf(context).create({ tenant: request.key.name, key: storedNameOf(request.key) }, body),
});

export const listBatches = defineRoute({
  name: 'listBatches',
  method: 'GET',
  path: '/batches',
  summary: "The tenant's batches, the newest first.",
  query: listBatchesQuerySchema,
  answers: [json(batchListSchema)],
  errors: [...readErrors, ...pageErrors],
  async handle({ query, request }, context: BatchesContext) {
    return presentPage(await batchesOf(context).list(request.key.name, query));
  },
});

export const getBatch = defineRoute({
  name: 'getBatch',
  method: 'GET',
  path: '/batches/:id',
  summary: 'A batch, and how far it is.',
  params,
  answers: [json(batchSchema)],
  errors: [...readErrors, 'not_found'],
  handle: ({ params: { id }, request }, context: BatchesContext) =>
    batchesOf(context).get(request.key.name, id),
});

export const cancelBatch = defineRoute({
  name: 'cancelBatch',
  method: 'POST',
  path: '/batches/:id/cancel',
  summary: 'Ends a batch with what it has. Its lines that run are cancelled.',
  params,
  answers: [json(batchSchema)],
  errors: [...readErrors, 'not_found'],
  handle: ({ params: { id }, request }, context: BatchesContext) =>
    batchesOf(context).cancel(request.key.name, id),
});

export const batchRoutes = [createBatch, listBatches, getBatch, cancelBatch];
