import type { Response } from '@sluice/contract';
import type { FastifyReply } from 'fastify';
import { holdAnswer, sendLong } from './plugins/unread-answers.ts';
import type { Answer } from './responses/answer.ts';
import type { Caller } from './responses/caller.ts';

const jsonType = 'application/json; charset=utf-8';

/**
 * Sends a response as the body that `print` makes of it. A long one goes as the bytes that the store has. With a caller whose work is done,
 * room for a body that is long for another reason is waited for; without one it is refused when there is none.
 */
export async function sendAnswer(
  reply: FastifyReply,
  print: (response: Response) => string,
  { response, texts, free }: Answer,
  caller?: Caller,
): Promise<FastifyReply> {
  reply.type(jsonType);
  const body = printed(print, response, free);
  if (texts) return sendLong(reply, body, { texts, free });
  if (caller) await holdAnswer(reply, body, caller);
  return reply.send(body);
}

function printed(print: (response: Response) => string, response: Response, free: () => void): string {
  try {
    return print(response);
  } catch (error) {
    free();
    throw error;
  }
}
