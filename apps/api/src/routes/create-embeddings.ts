import { createResponseHeadersSchema } from '@sluice/contract';
import { embeddingListJson, embeddingListSchema, embeddingRequestSchema } from '@sluice/protocols';
import { whenOver } from '../plugins/unread-answers.ts';
import { SlicedBody } from '../reader-pace.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import { defineRoute, json } from '../route.ts';
import { type CreateResponseContext, jsonType, serveCreation } from './create-response.ts';
import { creationErrors, preparedCreation } from './request-body.ts';

/** Embeddings: a response whose answer is a vector for each text. */
export const createEmbeddings = defineRoute({
  name: 'createEmbeddings',
  method: 'POST',
  path: '/embeddings',
  summary: 'Makes a vector of each text.',
  headers: createResponseHeadersSchema,
  body: {
    schema: embeddingRequestSchema,
    example: { model: 'simulator', input: ['Hello!', 'Good bye!'] },
    parse: async (request, context: CreateResponseContext) => {
      const prepared = await preparedCreation(request, context, 'embedding');
      return {
        pending: new PendingRequest(prepared),
        delivery: prepared.embedding ?? { encoding: 'float' as const },
      };
    },
  },
  answers: [json(embeddingListSchema)],
  errors: creationErrors,
  handle({ body: { pending, delivery }, headers, request, reply }, context: CreateResponseContext) {
    const idempotencyKey = headers['Idempotency-Key'];
    return serveCreation(
      { request, reply },
      context,
      { pending, idempotencyKey },
      async (caller, creation) => {
        const created = await context.responses.create.whole(caller, creation);
        if (created.kind === 'left') return reply;
        const { response, texts, free } = created.answer;
        whenOver(reply.raw, free);
        const pieces = embeddingListJson(response, delivery, texts && ((text) => texts.piecesOf(text)));
        // Numbers take several times the room of what is stored, so they are made as the reader takes them.
        return reply.type(jsonType).send(new SlicedBody({ pieces }));
      },
    );
  },
});
