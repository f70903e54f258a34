import type { Response } from '@sluice/contract';
import type { FastifyReply } from 'fastify';
import { holdAnswer, sendLong } from './plugins/unread-answers.ts';
import type { Answer } from './responses/answer.ts';
import type { Caller } from './responses/caller.ts';

const jsonType = 'application/json; charset=utf-8';

/** Makes the body of a response, in which marks stand for its long texts. */
export type PrintAnswer = (response: Response, texts: Answer['texts']) => string | Promise<string>;

/**
 * Sends a response as the body that `print` makes of it. A long one goes as the bytes that the store has. With a caller whose work is done,
 * room for a body that is long for another reason is waited for; without one it is refused when there is none.
 */
export async function sendAnswer(
  reply: FastifyReply,
  print: PrintAnswer,
  answer: Answer,
  caller?: Caller,
): Promise<FastifyReply> {
  reply.type(jsonType);
  const { texts, free, heldBytes } = answer;
  const body = await printed(print, answer);
  if (texts) return sendLong(reply, body, { texts, free, caller, heldBytes });
  free();
  if (caller) await holdAnswer(reply, body, caller);
  return reply.send(body);
}

async function printed(print: PrintAnswer, { response, texts, free }: Answer): Promise<string> {
  try {
    return await print(response, texts);
  } catch (error) {
    free();
    throw error;
  }
}
