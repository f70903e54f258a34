import {
  batchListSchema,
  batchSchema,
  compactionSchema,
  compactResponseSchema,
  countInputTokensSchema,
  createBatchSchema,
  createResponseSchema,
  createWebhookEndpointSchema,
  deletedFileSchema,
  deletedResponseSchema,
  deletedWebhookEndpointSchema,
  errorEnvelopeSchema,
  eventBatchSchema,
  eventPageSchema,
  eventSchema,
  fileListSchema,
  fileSchema,
  inputItemListSchema,
  inputItemSchema,
  inputTokensSchema,
  listedItemSchema,
  livenessSchema,
  modelListSchema,
  modelSchema,
  outputItemSchema,
  readinessSchema,
  responseBodySchema,
  responseListSchema,
  rotateWebhookSecretSchema,
  testWebhookEndpointSchema,
  updateWebhookEndpointSchema,
  costPageSchema,
  usagePageSchema,
  usageSchema,
  webhookEndpointListSchema,
  webhookEndpointSchema,
  webhookEndpointWithSecretSchema,
  webhookEventTypeListSchema,
  webhookTestResultSchema,
} from '@sluice/contract';
import {
  actListSchema,
  actSchema,
  adminModelListSchema,
  auditEntrySchema,
  auditListSchema,
  cancelledSchema,
  changedTenantSchema,
  changeModelSchema,
  createKeySchema,
  createModelSchema,
  facetsSchema,
  issuedKeySchema,
  keyListSchema,
  keySchema,
  historySchema,
  overviewSchema,
  queueListSchema,
  queueSwitchSchema,
  deliveryListSchema,
  deliverySchema,
  removedModelSchema,
  sentDeliverySchema,
  removeModelSchema,
  responseContentSchema,
  responseDetailSchema,
  responseFilterSchema,
  responseRowSchema,
  responseRowsSchema,
  retriedSchema,
  revokedKeySchema,
  rowsEventSchema,
  sessionSchema,
  startActSchema,
  storedModelSchema,
  tailEndSchema,
  tailEventSchema,
  tenantListSchema,
  tenantSchema,
} from '@sluice/contract/admin';
import {
  chatCompletionSchema,
  chatFrameSchema,
  chatRequestSchema,
  countMessageTokensSchema,
  embeddingListSchema,
  embeddingRequestSchema,
  messageErrorSchema,
  messageFrameSchema,
  messageModelListSchema,
  messageModelSchema,
  messageRequestSchema,
  messageSchema,
  messageTokensSchema,
  createMessageBatchSchema,
  deletedMessageBatchSchema,
  messageBatchListSchema,
  messageBatchSchema,
} from '@sluice/protocols';
import { z } from 'zod';
import type { Json } from './json.ts';

/** Schemas with names of their own; wherever one is part of another, the document refers to it. */
export const requestSchemas = {
  CreateResponse: createResponseSchema,
  CountInputTokens: countInputTokensSchema,
  CompactResponse: compactResponseSchema,
  InputItem: inputItemSchema,
  CreateChatCompletion: chatRequestSchema,
  CreateMessage: messageRequestSchema,
  CountMessageTokens: countMessageTokensSchema,
  CreateEmbeddings: embeddingRequestSchema,
  CreateBatch: createBatchSchema,
  CreateMessageBatch: createMessageBatchSchema,
  CreateWebhookEndpoint: createWebhookEndpointSchema,
  UpdateWebhookEndpoint: updateWebhookEndpointSchema,
  RotateWebhookSecret: rotateWebhookSecretSchema,
  TestWebhookEndpoint: testWebhookEndpointSchema,
};
export const answerSchemas = {
  Response: responseBodySchema,
  OutputItem: outputItemSchema,
  Usage: usageSchema,
  ResponseEvent: eventSchema,
  EventPage: eventPageSchema,
  EventBatch: eventBatchSchema,
  ResponseList: responseListSchema,
  ListedItem: listedItemSchema,
  InputItemList: inputItemListSchema,
  InputTokens: inputTokensSchema,
  Compaction: compactionSchema,
  DeletedResponse: deletedResponseSchema,
  Model: modelSchema,
  ModelList: modelListSchema,
  Liveness: livenessSchema,
  Readiness: readinessSchema,
  Error: errorEnvelopeSchema,
  ChatCompletion: chatCompletionSchema,
  ChatCompletionFrame: chatFrameSchema,
  Message: messageSchema,
  MessageFrame: messageFrameSchema,
  MessageTokens: messageTokensSchema,
  MessageError: messageErrorSchema,
  MessageModel: messageModelSchema,
  MessageModelList: messageModelListSchema,
  EmbeddingList: embeddingListSchema,
  WebhookEndpoint: webhookEndpointSchema,
  WebhookEndpointWithSecret: webhookEndpointWithSecretSchema,
  WebhookEndpointList: webhookEndpointListSchema,
  DeletedWebhookEndpoint: deletedWebhookEndpointSchema,
  WebhookTestResult: webhookTestResultSchema,
  WebhookEventTypeList: webhookEventTypeListSchema,
  UsagePage: usagePageSchema,
  CostPage: costPageSchema,
  File: fileSchema,
  FileList: fileListSchema,
  DeletedFile: deletedFileSchema,
  Batch: batchSchema,
  MessageBatch: messageBatchSchema,
  MessageBatchList: messageBatchListSchema,
  DeletedMessageBatch: deletedMessageBatchSchema,
  BatchList: batchListSchema,
} satisfies Record<string, z.ZodType>;

/** Those of the admin API, whose names say so: what clients are made from has no use for them. */
export const adminRequestSchemas = {
  AdminStartAct: startActSchema,
  AdminResponseFilter: responseFilterSchema,
  AdminCreateKey: createKeySchema,
  AdminCreateModel: createModelSchema,
  AdminChangeModel: changeModelSchema,
  AdminRemoveModel: removeModelSchema,
} satisfies Record<`Admin${string}`, z.ZodType>;
export const adminAnswerSchemas = {
  AdminSession: sessionSchema,
  AdminOverview: overviewSchema,
  AdminHistory: historySchema,
  AdminResponseRow: responseRowSchema,
  AdminResponseRows: responseRowsSchema,
  AdminRowsEvent: rowsEventSchema,
  AdminFacets: facetsSchema,
  AdminResponseDetail: responseDetailSchema,
  AdminResponseContent: responseContentSchema,
  AdminTailEvent: tailEventSchema,
  AdminTailEnd: tailEndSchema,
  AdminCancelled: cancelledSchema,
  AdminRetried: retriedSchema,
  AdminAct: actSchema,
  AdminActList: actListSchema,
  AdminAuditEntry: auditEntrySchema,
  AdminAuditList: auditListSchema,
  AdminQueueList: queueListSchema,
  AdminQueueSwitch: queueSwitchSchema,
  AdminTenant: tenantSchema,
  AdminTenantList: tenantListSchema,
  AdminKey: keySchema,
  AdminKeyList: keyListSchema,
  AdminIssuedKey: issuedKeySchema,
  AdminRevokedKey: revokedKeySchema,
  AdminChangedTenant: changedTenantSchema,
  AdminModelList: adminModelListSchema,
  AdminStoredModel: storedModelSchema,
  AdminRemovedModel: removedModelSchema,
  AdminDelivery: deliverySchema,
  AdminDeliveryList: deliveryListSchema,
  AdminSentDelivery: sentDeliverySchema,
} satisfies Record<`Admin${string}`, z.ZodType>;

export function componentsOf(
  schemas: Record<string, z.ZodType>,
  io: 'input' | 'output',
): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, {
    io,
    uri: (id) => `#/components/schemas/${id}`,
    // A later release may add members, which is no break.
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return Object.fromEntries(Object.entries(made.schemas).map(([id, schema]) => [id, plain(schema)]));
}

/** Without what only a document of its own needs. */
export function plain({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema;
}

/** A reference to a schema with a name, or the schema itself. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const named = Object.entries<z.ZodType>(
    io === 'input'
      ? { ...requestSchemas, ...adminRequestSchemas }
      : { ...answerSchemas, ...adminAnswerSchemas },
  );
  const name = named.find(([, each]) => each === schema)?.[0];
  return name === undefined
    ? plain(z.toJSONSchema(schema, { io }))
    : { $ref: `#/components/schemas/${name}` };
}
