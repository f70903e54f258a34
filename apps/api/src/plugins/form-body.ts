import type { Readable } from 'node:stream';
import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads a form of several parts, as it arrives. */
    takesForm?: boolean;
  }
}

/** Leaves the bytes of a form to the routes that read one. Any other route takes none. */
export function registerFormBody(app: FastifyInstance): void {
  app.addContentTypeParser('multipart/form-data', (request, payload: Readable, done) => {
    const { takesForm, takesBody } = request.routeOptions.config;
    if (takesForm === true) return done(null, payload);
    done(takesBody === true ? new ServiceError('unsupported_media_type') : null, undefined);
  });
}
