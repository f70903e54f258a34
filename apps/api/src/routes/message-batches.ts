import { type ErrorCode, responseParamsSchema, ServiceError } from '@sluice/contract';
import {
  createMessageBatchSchema,
  deletedMessageBatchSchema,
  messageBatchListSchema,
  messageBatchSchema,
  messagePageSchema,
} from '@sluice/protocols';
import type { MessageBatches } from '../batches/message-batches.ts';
import type { BodyBudget } from '../bodies/body-budget.ts';
import type { JsonReader } from '../bodies/json-reader.ts';
import { storedNameOf } from '../key-names.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveDownload } from '../plugins/downloads.ts';
import { anyErrors, bodyErrors, defineRoute, json, pageErrors } from '../route.ts';
import { messagesProtocol } from './messages-protocol.ts';
import { withBody } from './request-body.ts';

export interface MessageBatchesContext {
  /** Undefined where files are switched off. */
  messageBatches: MessageBatches | undefined;
  json: JsonReader;
}

interface ResultsContext extends Pick<MessageBatchesContext, 'messageBatches'> {
  open: OpenRequests;
  bodyBudget: BodyBudget;
}

const readErrors = [...anyErrors, 'files_off', 'files_unavailable'] as const satisfies ErrorCode[];
const params = responseParamsSchema;
const protocol = messagesProtocol;

function batchesOf({ messageBatches }: Pick<MessageBatchesContext, 'messageBatches'>): MessageBatches {
  if (!messageBatches) throw new ServiceError('files_off');
  return messageBatches;
}

export const createMessageBatch = defineRoute({
  name: 'createMessageBatch',
  method: 'POST',
  path: '/messages/batches',
  summary: 'Runs each request as a message, within a day. What is wrong with one is said by its result.',
  body: {
    schema: createMessageBatchSchema,
    example: {
      requests: [
        {
          custom_id: 'first',
          params: { model: 'simulator', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello!' }] },
        },
      ],
    },
    parse: (request, { json: reader }: MessageBatchesContext) =>
      withBody(request, (body) => reader.readMessages(request.key.name, body)),
  },
  isRead: true,
  answers: [json(messageBatchSchema)],
  errors: [
    ...readErrors,
    ...bodyErrors,
    'missing_required_parameter',
    'invalid_type',
    'invalid_value',
    'empty_array',
    'array_above_max_length',
    'file_limit_reached',
    'batch_limit_reached',
  ],
  protocol,
  handle: ({ body, request }, context: MessageBatchesContext) =>
    batchesOf(context).create({ tenant: request.key.name, key: storedNameOf(request.key) }, body),
});

export const listMessageBatches = defineRoute({
  name: 'listMessageBatches',
  method: 'GET',
  path: '/messages/batches',
  summary: "The tenant's batches of messages, the newest first.",
  query: messagePageSchema,
  answers: [json(messageBatchListSchema)],
  errors: [...readErrors, ...pageErrors, 'mutually_exclusive_parameters'],
  protocol,
  handle: ({ query, request }, context: MessageBatchesContext) =>
    batchesOf(context).list(request.key.name, query),
});

export const getMessageBatch = defineRoute({
  name: 'getMessageBatch',
  method: 'GET',
  path: '/messages/batches/:id',
  summary: 'A batch of messages, and how far it is.',
  params,
  answers: [json(messageBatchSchema)],
  errors: [...readErrors, 'not_found'],
  protocol,
  handle: ({ params: { id: batch }, request }, context: MessageBatchesContext) =>
    batchesOf(context).get(request.key.name, batch),
});

export const getMessageBatchResults = defineRoute({
  name: 'getMessageBatchResults',
  method: 'GET',
  path: '/messages/batches/:id/results',
  summary: 'The results of a batch of messages that has ended, one line of JSON for each request.',
  params,
  answers: [{ status: 200, description: 'Lines of `{"custom_id", "result"}`, in any order.' }],
  errors: [...readErrors, 'not_found', 'invalid_value'],
  protocol,
  handle({ params: { id: batch }, request, reply }, context: ResultsContext) {
    const batches = batchesOf(context);
    const { open, bodyBudget } = context;
    return serveDownload({ request, reply, open, bodyBudget }, async (reader) => ({
      headers: { 'content-type': 'application/x-jsonl', 'x-content-type-options': 'nosniff' },
      content: await batches.results(request.key.name, batch, reader),
    }));
  },
});

export const cancelMessageBatch = defineRoute({
  name: 'cancelMessageBatch',
  method: 'POST',
  path: '/messages/batches/:id/cancel',
  summary: 'Ends a batch of messages with what it has.',
  params,
  answers: [json(messageBatchSchema)],
  errors: [...readErrors, 'not_found'],
  protocol,
  handle: ({ params: { id: batch }, request }, context: MessageBatchesContext) =>
    batchesOf(context).cancel(request.key.name, batch),
});

export const deleteMessageBatch = defineRoute({
  name: 'deleteMessageBatch',
  method: 'DELETE',
  path: '/messages/batches/:id',
  summary: 'Takes a batch of messages that has ended away, with its results.',
  params,
  answers: [json(deletedMessageBatchSchema)],
  errors: [...readErrors, 'not_found', 'invalid_value'],
  protocol,
  async handle({ params: { id: batch }, request }, context: MessageBatchesContext) {
    await batchesOf(context).remove(request.key.name, batch);
    return { id: batch, type: 'message_batch_deleted' };
  },
});

export const messageBatchRoutes = [
  createMessageBatch,
  listMessageBatches,
  getMessageBatch,
  getMessageBatchResults,
  cancelMessageBatch,
  deleteMessageBatch,
];
