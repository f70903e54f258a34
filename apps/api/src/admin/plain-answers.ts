import type { FastifyReply } from 'fastify';

const texts = {
  401: 'Send ADMIN_TOKEN as a bearer token, or as the password of basic authentication.\n',
  403: 'Refused: this request did not come from a page of this listener.\n',
  404: 'Not here. There are /console, /queues, /metrics and /scale.\n',
  405: 'Read-only here. What changes something is under /admin/v1.\n',
  500: 'Failed for a reason of our own; the log has it.\n',
};

/** Answers with a status and its one fixed sentence, as plain text. */
export function sendPlain(reply: FastifyReply, status: keyof typeof texts): FastifyReply {
  return reply.code(status).type('text/plain; charset=utf-8').send(texts[status]);
}
