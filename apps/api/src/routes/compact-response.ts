import { compactionSchema, compactResponseSchema } from '@sluice/contract';
import { serveCaller } from '../plugins/caller.ts';
import { releaseBody } from '../plugins/json-body.ts';
import { tellingRefusal } from '../refused-creates.ts';
import { rateLimitHeaders } from '../rate-limit-headers.ts';
import type { Compaction } from '../responses/compact-response.ts';
import type { AnswerFacts } from '../responses/creation.ts';
import { anyErrors, bodyErrors, defineRoute, json } from '../route.ts';
import { type CreateResponseContext, jsonType, responseIdHeader } from './create-response.ts';
import { contextErrors, failureErrors, pendingBody } from './request-body.ts';

export const compactResponse = defineRoute({
  name: 'compactResponse',
  method: 'POST',
  path: '/responses/compact',
  summary: "Makes a conversation shorter: the user's messages, and a sealed summary of all the rest.",
  body: {
    schema: compactResponseSchema,
    example: { model: 'simulator', input: 'Hello!' },
    parse: (request, { json: reader, telemetry }: CreateResponseContext) =>
      tellingRefusal(telemetry, { tenant: request.key.name, model: '' }, () =>
        pendingBody(request, reader, { form: 'compact' }),
      ),
  },
  answers: [json(compactionSchema)],
  errors: [...anyErrors, ...bodyErrors, ...contextErrors, 'tool_call_not_found', ...failureErrors],
  handle({ body: pending, request, reply }, { responses, open, bodyBudget }: CreateResponseContext) {
    return serveCaller({ request, reply, open, bodyBudget }, async (caller) => {
      const unpin = request.bodyReservation?.pin();
      try {
        const compaction = await responses.compactor.compact(caller, {
          pending,
          reserve: (bytes) => request.bodyReservation?.grow(bytes),
          onAccepted: ({ responseId, use }: AnswerFacts) => {
            unpin?.();
            releaseBody(request);
            // The id of its body is another one; an error is found by this one.
            reply.headers({ ...responseIdHeader(responseId), ...rateLimitHeaders(use) });
          },
        });
        if (!compaction) return reply;
        return reply.type(jsonType).send(printCompaction(compaction));
      } finally {
        unpin?.();
      }
    });
  },
});

/** The compaction as JSON: its messages are printed already, and may be long. */
function printCompaction({ id, createdAt, messages, item, usage }: Compaction): Buffer {
  const head = JSON.stringify({ id, object: 'response.compaction', created_at: createdAt });
  const pieces = [
    `${head.slice(0, -1)},"output":[`,
    ...messages.flatMap((message) => [message.json, ',']),
    `${JSON.stringify(item)}],"usage":${JSON.stringify(usage)}}`,
  ];
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}
