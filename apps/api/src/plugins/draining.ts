import type { FastifyInstance } from 'fastify';
import type { OpenRequest, OpenRequests } from '../open-requests.ts';
import { whenOver } from './unread-answers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while a request that changes something counts as under way: from its headers until its answer is about to be sent. */
    underWay: OpenRequest | undefined;
  }
}

/**
 * Counts a request that changes something as under way from its headers on, so that a stopping process waits for the rest
 * and for its answer, and makes every answer of a stopping process the last one of its connection, so that clients move on by
 * themselves and no kept connection holds up the stop.
 */
export function registerDraining(
  app: FastifyInstance,
  { open, isStopping }: { open: OpenRequests; isStopping: () => boolean },
): void {
  app.decorateRequest('underWay');
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'POST' || request.method === 'DELETE') {
      const underWay = open.begin(() => {
        // One that has arrived is answered soon, or is a wait that ends by itself.
        if (!request.raw.complete) request.raw.socket.destroy();
      });
      request.underWay = underWay;
      whenOver(reply.raw, underWay.end);
    }
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    request.underWay?.end();
    if (isStopping()) reply.header('connection', 'close');
    done();
  });
  // A stream that began earlier has promised to keep its connection.
  app.addHook('onResponse', (request, _reply, done) => {
    if (isStopping()) request.raw.socket.destroySoon();
    done();
  });
}
