import type { Batches } from '@sluice/batches';
import {
  batchListSchema,
  batchSchema,
  createBatchSchema,
  type ErrorCode,
  listBatchesQuerySchema,
  parsePart,
  responseParamsSchema,
  ServiceError,
} from '@sluice/contract';
import type { FastifyRequest } from 'fastify';
import { decodeJson, parseJson } from '../bodies/parse-json.ts';
import { storedNameOf } from '../key-names.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';

export interface BatchesContext {
  /** Undefined where files are switched off. */
  batches: Batches | undefined;
}

/** A body here has a few names, and metadata. */
const mostBytes = 64 * 1024;

const readErrors = [...anyErrors, 'files_off'] as const satisfies ErrorCode[];
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
  body: {
    schema: createBatchSchema,
    example,
    parse({ body }: FastifyRequest) {
      if (!(body instanceof Uint8Array)) return parsePart(createBatchSchema, {});
      if (body.length > mostBytes) throw new ServiceError('request_too_large');
      return parsePart(createBatchSchema, parseJson(decodeJson(body)));
    },
  },
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
  errors: [
    ...readErrors,
    'invalid_type',
    'invalid_value',
    'integer_below_min_value',
    'integer_above_max_value',
  ],
  async handle({ query, request }, context: BatchesContext) {
    const { data, hasMore } = await batchesOf(context).list(request.key.name, query);
    return {
      object: 'list',
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: hasMore,
    };
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
