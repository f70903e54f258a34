import { createResponseHeadersSchema } from '@sluice/contract';
import {
  type MessageDelivery,
  MessageEvents,
  messageFrameSchema,
  messageJson,
  messageRequestSchema,
  messageSchema,
} from '@sluice/protocols';
import type { LongTexts } from '@sluice/response-store';
import { frameOf } from '../event-stream.ts';
import type { AnswerFacts } from '../responses/creation.ts';
import { longObjects } from '../responses/long-objects.ts';
import { PendingRequest } from '../responses/pending-request.ts';
import { defineRoute, eventStream, json } from '../route.ts';
import { type PrintAnswer, sendAnswer } from '../send-answer.ts';
import { openEventStream, type StreamFraming } from '../sse.ts';
import { type CreateResponseContext, presentationOf, serveCreation } from './create-response.ts';
import { messagesProtocol } from './messages-protocol.ts';
import { creationErrors, preparedCreation } from './request-body.ts';

/** Anthropic's messages: the same response, asked for and told in another form. */
export const createMessage = defineRoute({
  name: 'createMessage',
  method: 'POST',
  path: '/messages',
  summary: 'Creates a response that is asked for and answered as a message.',
  headers: createResponseHeadersSchema,
  body: {
    schema: messageRequestSchema,
    example: { model: 'simulator', max_tokens: 1024, messages: [{ role: 'user', content: 'Hello!' }] },
    parse: async (request, context: CreateResponseContext) => {
      const prepared = await preparedCreation(request, context, 'message');
      return { pending: new PendingRequest(prepared), delivery: prepared.message ?? { thinking: 'none' } };
    },
  },
  answers: [json(messageSchema), eventStream(messageFrameSchema)],
  errors: creationErrors,
  protocol: messagesProtocol,
  handle({ body: { pending, delivery }, headers, request, reply }, context: CreateResponseContext) {
    const { dialect, responses } = context;
    const idempotencyKey = headers['Idempotency-Key'];
    return serveCreation({ request, reply }, context, { pending, idempotencyKey }, async (caller, given) => {
      const creation = {
        ...given,
        onAccepted(facts: AnswerFacts) {
          given.onAccepted(facts);
          reply.headers(messagesProtocol.limitHeaders(facts.use));
        },
      };
      if (pending.request.stream === true) {
        const presentation = { ...presentationOf(request, dialect, false), isForDoor: true };
        const open = () => openEventStream(reply, messageFraming(delivery, request.id));
        await responses.create.stream(caller, { ...creation, presentation }, open);
        return reply;
      }
      const created = await responses.create.whole(caller, creation);
      if (created.kind === 'left') return reply;
      const print: PrintAnswer = async (whole, texts) =>
        messageJson(whole, delivery, texts && (await longObjects(whole, texts)));
      return sendAnswer(reply, print, created.answer, caller);
    });
  },
});

/** The stream of a message: a frame with a name for each of its events, and pings while there is none. */
export function messageFraming(delivery: MessageDelivery, requestId: string): StreamFraming {
  const message = new MessageEvents<LongTexts>(delivery, requestId);
  return {
    frames(events) {
      const frames = events
        .flatMap((event) => message.of(event))
        .map(({ frame, texts }) => ({ text: frameOf(frame.type, JSON.stringify(frame)), texts }));
      if (frames.every(({ texts }) => texts === undefined)) return frames.map(({ text }) => text).join('');
      // Frames of events that have waited have their texts from elsewhere.
      return frames.flatMap(({ text, texts }) => texts?.piecesOf(text) ?? Buffer.from(text));
    },
    ping: frameOf('ping', JSON.stringify({ type: 'ping' })),
  };
}
