import type { FastifyReply } from 'fastify';
import { holdAnswer, sendLong } from './plugins/unread-answers.ts';
import type { Answer } from './responses/answer.ts';
import type { Caller } from './responses/caller.ts';
import { type Dialect, responseBody } from './responses/dialect.ts';

const jsonType = 'application/json; charset=utf-8';

/**
 * Sends a response as a body of its mount. A long one goes as the bytes that the store has. With a caller whose work is done,
 * room for a body that is long for another reason is waited for; without one it is refused when there is none.
 */
export async function sendAnswer(
  reply: FastifyReply,
  dialect: Dialect,
  { response, texts, free }: Answer,
  caller?: Caller,
): Promise<FastifyReply> {
  reply.type(jsonType);
  const body = responseBody(dialect, response);
  if (texts) return sendLong(reply, body, { texts, free });
  if (caller) await holdAnswer(reply, body, caller);
  return reply.send(body);
}
