import type { Readiness } from '@sluice/runtime';
import { readEvents, type ReadEventsContext } from './routes/read-events.ts';
import type { Route } from './route.ts';
import { cancelResponse } from './routes/cancel-response.ts';
import { compactResponse } from './routes/compact-response.ts';
import { countInputTokens } from './routes/count-input-tokens.ts';
import { countMessageTokens } from './routes/count-message-tokens.ts';
import { createChatCompletion } from './routes/create-chat-completion.ts';
import { createEmbeddings } from './routes/create-embeddings.ts';
import { createMessage } from './routes/create-message.ts';
import { createResponse, type CreateResponseContext } from './routes/create-response.ts';
import { batchRoutes, type BatchesContext } from './routes/batches.ts';
import { messageBatchRoutes, type MessageBatchesContext } from './routes/message-batches.ts';
import { fileRoutes, type FilesContext } from './routes/files.ts';
import { deleteResponse } from './routes/delete-response.ts';
import { getModel } from './routes/get-model.ts';
import { getResponse } from './routes/get-response.ts';
import { listInputItems } from './routes/list-input-items.ts';
import { listModels, type ListModelsContext } from './routes/list-models.ts';
import { listResponses } from './routes/list-responses.ts';
import { type WebhooksContext, webhookRoutes } from './routes/webhook-endpoints.ts';
import { listCosts, listUsage, type UsageContext } from './routes/usage.ts';
import { reportLiveness, reportReadiness } from './routes/report-health.ts';

/** The parts that the routes of a mount work with, all together. */
export type MountContext = CreateResponseContext &
  ListModelsContext &
  ReadEventsContext &
  WebhooksContext &
  UsageContext &
  FilesContext &
  BatchesContext &
  MessageBatchesContext;

/** Every route of the API. Each mount has all of them, behind its authentication. */
export const routes: readonly Route<MountContext>[] = [
  createResponse,
  createChatCompletion,
  createMessage,
  createEmbeddings,
  countMessageTokens,
  listResponses,
  countInputTokens,
  compactResponse,
  getResponse,
  readEvents,
  cancelResponse,
  deleteResponse,
  listInputItems,
  listModels,
  getModel,
  ...webhookRoutes,
  ...fileRoutes,
  ...batchRoutes,
  ...messageBatchRoutes,
  listUsage,
  listCosts,
];

/** Routes of the process itself: they belong to no mount, and need no key. */
export const healthRoutes: readonly Route<{ readiness: () => Promise<Readiness> }>[] = [
  reportLiveness,
  reportReadiness,
];
