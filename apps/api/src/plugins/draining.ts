import type { FastifyInstance } from 'fastify';

/**
 * Makes every answer of a stopping process the last one of its connection, so that clients move on by themselves
 * and no kept connection holds up the stop.
 */
export function registerDraining(app: FastifyInstance, isStopping: () => boolean): void {
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
