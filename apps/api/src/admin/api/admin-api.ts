import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';
import { registerErrorHandler } from '../../plugins/error-handler.ts';
import { requireActing } from './action-token.ts';
import type { AdminContext } from './admin-context.ts';
import { adminMount } from './admin-mount.ts';
import { adminRoutes } from './admin-routes.ts';

/**
 * The admin API: what the console shows and does, for whoever may see the admin listener. It reads unless a request carries the
 * action token; see `action-token.ts`. Errors have the envelope of the Responses API.
 */
export function registerAdminApi(app: FastifyInstance, context: AdminContext): void {
  void app.register(
    (mount, _options, done) => {
      registerErrorHandler(mount, context.logger);
      mount.removeAllContentTypeParsers();
      mount.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, parsed) => {
        parsed(null, parseJson(String(body)));
      });
      for (const { method, path, acts, answer } of adminRoutes) {
        mount.route({
          method,
          url: path,
          onRequest: (request, _reply, next) => {
            if (acts) requireActing(request.headers, context.actionToken);
            next();
          },
          handler: (request, reply) => answer(request, reply, context),
        });
      }
      done();
    },
    { prefix: adminMount },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError('invalid_json', { cause });
  }
}
