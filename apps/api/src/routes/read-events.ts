import {
  eventBatchSchema,
  eventPageSchema,
  readEventsQuerySchema,
  responseParamsSchema,
} from '@sluice/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BodyBudget } from '../bodies/body-budget.ts';
import {
  DurableFraming,
  offsetOf,
  positionHeaders,
  type StreamPosition,
  streamCursor,
} from '../durable-stream.ts';
import { openEventStream } from '../sse.ts';
import type { OpenRequests } from '../open-requests.ts';
import { serveCaller } from '../plugins/caller.ts';
import { holdAnswer, sendLong } from '../plugins/unread-answers.ts';
import type { Dialect } from '../responses/dialect.ts';
import type { EventPage } from '../responses/read-event-page.ts';
import type { Responses } from '../responses/responses.ts';
import { anyErrors, defineRoute, empty, eventStream, json } from '../route.ts';
import { jsonType, presentationOf, responseIdHeader } from './create-response.ts';

export interface ReadEventsContext {
  dialect: Dialect;
  responses: Responses;
  open: OpenRequests;
  bodyBudget: BodyBudget;
  /** How long a long-poll waits, in milliseconds; 25 seconds by default. */
  longPollMs?: number | undefined;
}

/** Shorter than the half minute after which many proxies give up. */
const defaultLongPollMs = 25_000;

const positions = {
  'Stream-Next-Offset': 'The offset to continue from.',
  'Stream-Up-To-Date': '`true` when there was no further event yet.',
  'Stream-Closed': '`true` when there will never be one.',
  'Stream-Cursor': 'To be sent back as `cursor` with the next live request.',
};

export const readEvents = defineRoute({
  name: 'readEvents',
  method: 'GET',
  path: '/responses/:id/events',
  summary:
    'The events of a response as a stream of JSON of the Durable Streams protocol, which is read from an offset.',
  params: responseParamsSchema,
  query: readEventsQuerySchema,
  answers: [
    json(eventPageSchema, { headers: positions }),
    eventStream(eventBatchSchema),
    empty(204, 'No event came in time, or none will ever come.', positions),
    empty(304, 'The same as what `If-None-Match` names.', positions),
  ],
  errors: [...anyErrors, 'missing_required_parameter', 'invalid_value', 'not_found', 'events_gone'],
  async handle({ params, query, request, reply }, context: ReadEventsContext) {
    const { dialect, responses, open, bodyBudget, longPollMs = defaultLongPollMs } = context;
    const { live, offset } = query;
    if (request.method === 'HEAD') {
      return serveCaller({ request, reply, open, bodyBudget }, async (caller) =>
        sendPosition(reply, await responses.eventsPosition(caller, params.id)).send(),
      );
    }
    const nextCursor = () => streamCursor(query.cursor, responses.now(params.id), Math.random);
    const presentation = presentationOf(request, dialect, query.include_obfuscation);
    const from = offset === 'now' ? offset : Math.max(Number(offset ?? -1), 0) - 1;
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      if (live === 'sse') {
        await responses.follow(caller, params.id, {
          cursor: from,
          presentation,
          expiredAs: 'events_gone',
          openSink: (cursor) =>
            openEventStream(
              reply.headers(responseIdHeader(params.id)),
              new DurableFraming({ next: cursor + 1, cursor: nextCursor }),
            ),
        });
        return reply;
      }
      const waitMs = live === 'long-poll' ? longPollMs : 0;
      const page = await responses.readEvents(caller, params.id, { cursor: from, presentation, waitMs });
      if (caller.presence.departure === 'caller_left') {
        page.free();
        return reply;
      }
      reply.headers(responseIdHeader(params.id));
      if (live === 'long-poll') {
        sendPosition(reply, page, page.isClosed ? undefined : nextCursor());
        if (page.events.length === 0) page.free();
        if (page.events.length === 0) return reply.code(204).removeHeader('content-type').send();
      } else {
        sendPosition(reply, page);
        if (offset !== 'now' && isKnown(request, reply, page)) {
          page.free();
          return reply.code(304).send();
        }
      }
      const body = `[${page.events.join(',')}]`;
      const { texts, free, heldBytes } = page;
      if (texts) return sendLong(reply, body, { texts, free, caller, heldBytes });
      // The memory that was held for the events is now held for the body.
      free();
      await holdAnswer(reply, body, caller);
      return reply.send(body);
    });
  },
});

function sendPosition(reply: FastifyReply, position: StreamPosition, cursor?: string): FastifyReply {
  return reply.type(jsonType).headers(positionHeaders(position, cursor));
}

/** Names the page, and says whether the reader has it. A page that is closed is another one, as its reader stops at it. */
function isKnown(request: FastifyRequest, reply: FastifyReply, page: EventPage): boolean {
  const end = page.isClosed ? ':c' : page.isUpToDate ? ':u' : '';
  const tag = `"${offsetOf(page.next - page.events.length)}:${offsetOf(page.next)}${end}"`;
  reply.header('etag', tag);
  const known = request.headers['if-none-match'] ?? '';
  return known.split(',').some((each) => each.trim().replace(/^W\//, '') === tag);
}
