import { createResponseHeadersSchema } from '@sluice/contract';
import {
  asChatError,
  ChatChunks,
  type ChatDelivery,
  chatFrameSchema,
  chatCompletionOf,
  chatCompletionSchema,
  chatRequestSchema,
} from '@sluice/protocols';
import { errorEnvelope } from '../plugins/error-handler.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import { defineRoute, eventStream, json } from '../route.ts';
import { sendAnswer } from '../send-answer.ts';
import { openEventStream, type StreamFraming } from '../sse.ts';
import { type CreateResponseContext, presentationOf, serveCreation } from './create-response.ts';
import { creationErrors, preparedCreation } from './request-body.ts';

/** OpenAI's chat completions: the same response, asked for and told in another form. */
export const createChatCompletion = defineRoute({
  name: 'createChatCompletion',
  method: 'POST',
  path: '/chat/completions',
  summary: 'Creates a response that is asked for and answered as a chat completion.',
  headers: createResponseHeadersSchema,
  body: {
    schema: chatRequestSchema,
    example: { model: 'simulator', messages: [{ role: 'user', content: 'Hello!' }] },
    parse: async (request, context: CreateResponseContext) => {
      const prepared = await preparedCreation(request, context, 'chat');
      return { pending: new PendingRequest(prepared), delivery: prepared.chat ?? { includesUsage: false } };
    },
  },
  answers: [json(chatCompletionSchema), eventStream(chatFrameSchema)],
  errors: creationErrors,
  protocol: { errorBody: (error) => errorEnvelope(asChatError(error)) },
  handle({ body: { pending, delivery }, headers, request, reply }, context: CreateResponseContext) {
    const { dialect, responses } = context;
    const idempotencyKey = headers['Idempotency-Key'];
    return serveCreation(
      { request, reply },
      context,
      { pending, idempotencyKey },
      async (caller, creation) => {
        if (pending.request.stream === true) {
          const presentation = presentationOf(request, dialect, false);
          const open = () => openEventStream(reply, chatFraming(delivery));
          await responses.create.stream(caller, { ...creation, presentation }, open);
          return reply;
        }
        const created = await responses.create.whole(caller, creation);
        if (created.kind === 'left') return reply;
        return sendAnswer(reply, (whole) => JSON.stringify(chatCompletionOf(whole)), created.answer, caller);
      },
    );
  },
});

/** The stream of a chat completion: a chunk a frame, none with a name, and `[DONE]` unless the last one is an error. */
export function chatFraming(delivery: ChatDelivery): StreamFraming {
  const chunks = new ChatChunks(delivery);
  return {
    frames: (events) =>
      events
        .flatMap(({ type, json: event }) => chunks.of(type, event))
        .map((chunk) => `data: ${chunk}\n\n`)
        .join(''),
    last: () => (chunks.hasFailed ? '' : 'data: [DONE]\n\n'),
  };
}
