import type { FastifyRequest } from 'fastify';
import type { Protocol } from '../protocol.ts';
import { messagesProtocol } from '../routes/messages-protocol.ts';

const messagesPath = /^\/(?:api\/)?v1\/messages(?:\/|$)/;
const modelsPath = /^\/(?:api\/)?v1\/models(?:\/|$)/;

/**
 * The protocol in which a request is answered; undefined for the Responses API.
 *
 * A route says its own. Below the path of messages there is one protocol alone, also where there is no route, and at the models, which clients of
 * several protocols ask for, the request says it.
 */
export function protocolOf(request: FastifyRequest): Protocol | undefined {
  const { protocol } = request.routeOptions.config;
  if (protocol) return protocol;
  const path = request.url.split('?', 1)[0] ?? '';
  const isOfMessages = messagesPath.test(path) || (modelsPath.test(path) && isOfAnthropic(request));
  return isOfMessages ? messagesProtocol : undefined;
}

/** Whether a request comes from a client of Anthropic: each of them says which version of its protocol it speaks. */
export function isOfAnthropic({ headers }: FastifyRequest): boolean {
  return headers['anthropic-version'] !== undefined;
}
