import * as contract from '@sluice/contract';
import * as admin from '@sluice/contract/admin';
import * as protocols from '@sluice/protocols';
import { z } from 'zod';
import type { Json } from './json.ts';

/** Schemas with names of their own; wherever one is part of another, the document refers to it. */
export const requestSchemas = {
  CreateResponse: contract.createResponseSchema,
  CountInputTokens: contract.countInputTokensSchema,
  CompactResponse: contract.compactResponseSchema,
  InputItem: contract.inputItemSchema,
  CreateChatCompletion: protocols.chatRequestSchema,
  CreateMessage: protocols.messageRequestSchema,
  CountMessageTokens: protocols.countMessageTokensSchema,
  CreateEmbeddings: protocols.embeddingRequestSchema,
  CreateBatch: contract.createBatchSchema,
  CreateMessageBatch: protocols.createMessageBatchSchema,
  CreateWebhookEndpoint: contract.createWebhookEndpointSchema,
  UpdateWebhookEndpoint: contract.updateWebhookEndpointSchema,
  RotateWebhookSecret: contract.rotateWebhookSecretSchema,
  TestWebhookEndpoint: contract.testWebhookEndpointSchema,
};
export const answerSchemas = {
  Response: contract.responseBodySchema,
  OutputItem: contract.outputItemSchema,
  Usage: contract.usageSchema,
  ResponseEvent: contract.eventSchema,
  EventPage: contract.eventPageSchema,
  EventBatch: contract.eventBatchSchema,
  ResponseList: contract.responseListSchema,
  ListedItem: contract.listedItemSchema,
  InputItemList: contract.inputItemListSchema,
  InputTokens: contract.inputTokensSchema,
  Compaction: contract.compactionSchema,
  DeletedResponse: contract.deletedResponseSchema,
  Model: contract.modelSchema,
  ModelList: contract.modelListSchema,
  Liveness: contract.livenessSchema,
  Readiness: contract.readinessSchema,
  Error: contract.errorEnvelopeSchema,
  ChatCompletion: protocols.chatCompletionSchema,
  ChatCompletionFrame: protocols.chatFrameSchema,
  Message: protocols.messageSchema,
  MessageFrame: protocols.messageFrameSchema,
  MessageTokens: protocols.messageTokensSchema,
  MessageError: protocols.messageErrorSchema,
  MessageModel: protocols.messageModelSchema,
  MessageModelList: protocols.messageModelListSchema,
  EmbeddingList: protocols.embeddingListSchema,
  WebhookEndpoint: contract.webhookEndpointSchema,
  WebhookEndpointWithSecret: contract.webhookEndpointWithSecretSchema,
  WebhookEndpointList: contract.webhookEndpointListSchema,
  DeletedWebhookEndpoint: contract.deletedWebhookEndpointSchema,
  WebhookTestResult: contract.webhookTestResultSchema,
  WebhookEventTypeList: contract.webhookEventTypeListSchema,
  UsagePage: contract.usagePageSchema,
  CostPage: contract.costPageSchema,
  File: contract.fileSchema,
  FileList: contract.fileListSchema,
  DeletedFile: contract.deletedFileSchema,
  Batch: contract.batchSchema,
  MessageBatch: protocols.messageBatchSchema,
  MessageBatchList: protocols.messageBatchListSchema,
  DeletedMessageBatch: protocols.deletedMessageBatchSchema,
  BatchList: contract.batchListSchema,
} satisfies Record<string, z.ZodType>;

/** Schemas of the admin API, whose names say so: what clients are made from has no use for them. */
export const adminRequestSchemas = {
  AdminStartAct: admin.startActSchema,
  AdminResponseFilter: admin.responseFilterSchema,
  AdminCreateKey: admin.createKeySchema,
  AdminCreateModel: admin.createModelSchema,
  AdminChangeModel: admin.changeModelSchema,
  AdminRemoveModel: admin.removeModelSchema,
  AdminCreateProvider: admin.createProviderSchema,
  AdminChangeProvider: admin.changeProviderSchema,
} satisfies Record<`Admin${string}`, z.ZodType>;
export const adminAnswerSchemas = {
  AdminSession: admin.sessionSchema,
  AdminOverview: admin.overviewSchema,
  AdminHistory: admin.historySchema,
  AdminResponseRow: admin.responseRowSchema,
  AdminResponseRows: admin.responseRowsSchema,
  AdminRowsEvent: admin.rowsEventSchema,
  AdminFacets: admin.facetsSchema,
  AdminResponseDetail: admin.responseDetailSchema,
  AdminResponseContent: admin.responseContentSchema,
  AdminTailEvent: admin.tailEventSchema,
  AdminTailEnd: admin.tailEndSchema,
  AdminCancelled: admin.cancelledSchema,
  AdminRetried: admin.retriedSchema,
  AdminAct: admin.actSchema,
  AdminActList: admin.actListSchema,
  AdminAuditEntry: admin.auditEntrySchema,
  AdminAuditList: admin.auditListSchema,
  AdminQueueList: admin.queueListSchema,
  AdminQueueSwitch: admin.queueSwitchSchema,
  AdminTenant: admin.tenantSchema,
  AdminTenantList: admin.tenantListSchema,
  AdminKey: admin.keySchema,
  AdminKeyList: admin.keyListSchema,
  AdminIssuedKey: admin.issuedKeySchema,
  AdminRevokedKey: admin.revokedKeySchema,
  AdminChangedTenant: admin.changedTenantSchema,
  AdminModelList: admin.adminModelListSchema,
  AdminStoredModel: admin.storedModelSchema,
  AdminRemovedModel: admin.removedModelSchema,
  AdminCell: admin.cellRowSchema,
  AdminCellList: admin.cellListSchema,
  AdminAddCell: admin.addCellSchema,
  AdminChangedCell: admin.changedCellSchema,
  AdminProviderList: admin.providerListSchema,
  AdminStoredProvider: admin.storedProviderSchema,
  AdminRemovedProvider: admin.removedProviderSchema,
  AdminDelivery: admin.deliverySchema,
  AdminDeliveryList: admin.deliveryListSchema,
  AdminSentDelivery: admin.sentDeliverySchema,
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
