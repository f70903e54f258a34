import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { OpenRequests } from '../open-requests.ts';

/**
 * Counts a request with a body as under way from its headers on, so that a stopping process waits for the rest, and
 * makes every answer of a stopping process the last one of its connection, so that clients move on by themselves
 * and no kept connection holds up the stop.
 */
export function registerDraining(
  app: FastifyInstance,
  { open, isStopping }: { open: OpenRequests; isStopping: () => boolean },
): void {
  const arriving = new WeakMap<FastifyRequest, () => void>();
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'POST') {
      const arrived = open.begin(() => request.raw.socket.destroy());
      arriving.set(request, arrived);
      reply.raw.once('close', arrived);
    }
    done();
  });
  app.addHook('preHandler', (request, _reply, done) => {
    const arrived = arriving.get(request);
    // The handler counts from its first turn on, which is this one.
    if (arrived) setImmediate(arrived);
    done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping()) reply.header('connection', 'close');
    done();
  });
  // A stream that began earlier has promised to keep its connection.
  app.addHook('onResponse', (request, _reply, done) => {
    if (isStopping()) request.raw.socket.destroySoon();
    done();
  });
}
