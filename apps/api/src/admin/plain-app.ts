import { loggedError } from '@sluice/runtime';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { sendPlain } from './plain-answers.ts';

/** An app of the operator's listener without routes, which says plainly what is not there and what has failed. */
export function makePlainApp(loggerInstance: FastifyBaseLogger): FastifyInstance {
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: 30_000,
    bodyLimit: 64 * 1024,
    forceCloseConnections: true,
    // An id that is too long is an unknown one.
    routerOptions: { maxParamLength: 16 * 1024 },
  });
  app.setNotFoundHandler((_request, reply) => sendPlain(reply, 404));
  app.setErrorHandler((error, _request, reply) => {
    app.log.error({ err: loggedError(error) }, 'admin request failed');
    return sendPlain(reply, 500);
  });
  return app;
}
