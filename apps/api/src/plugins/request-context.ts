import { randomBytes } from '@sluice/runtime';
import type { IncomingMessage } from 'node:http';
import { newRequestId, ServiceError } from '@sluice/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { protocolOf } from './request-protocol.ts';

/** A client's own request id is taken over when it cannot do harm in a log or a header. */
const usableRequestId = /^[\w-]{1,64}$/;
const usableClientRequestId = /^[\x20-\x7e]{1,512}$/;

export function requestId(headers: Record<string, unknown>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && usableRequestId.test(given) ? given : newRequestId(randomBytes);
}

/** Headers that every answer carries, and checks that come before everything else. */
export function registerRequestContext(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(contextHeaders(request));
    const fault = faultOf(request.raw);
    if (fault) done(new ServiceError('invalid_request', fault));
    else done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    reply.header('openai-processing-ms', processingMs(reply));
    done();
  });
}

/** Whole milliseconds since the request arrived. */
export function processingMs(reply: FastifyReply): string {
  return String(Math.max(0, Math.round(reply.elapsedTime)));
}

/** The headers of `registerRequestContext`, for answers that are given before any hook runs. */
export function contextHeaders(request: FastifyRequest): Record<string, string> {
  const { id } = request;
  const clientId = request.headers['x-client-request-id'];
  const { requestIdHeader } = protocolOf(request) ?? {};
  return {
    'x-request-id': id,
    ...(requestIdHeader !== undefined && { [requestIdHeader]: id }),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(typeof clientId === 'string' &&
      usableClientRequestId.test(clientId) && { 'x-client-request-id': clientId }),
  };
}

/** The fault of a request that Node lets pass although a proxy in front of us may read it in another way. */
function faultOf({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion === '0.9') return 'The request names no version of HTTP.';
  if (httpVersion === '1.1' && headers.host === undefined) return "The header 'host' is missing.";
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) return `The header '${repeated}' was sent twice.`;
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return "The header 'expect' asks for what this server does not do.";
  }
  return undefined;
}

/** Node keeps the first of these and drops the rest; a proxy before us may have looked at another one. */
function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    if (name !== 'host' && name !== 'authorization') continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
