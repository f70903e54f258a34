import { ServiceError } from '@sluice/contract';
import type { FastifyInstance } from 'fastify';
import { registerErrorHandler } from '../../plugins/error-handler.ts';
import { openApiDocument } from '../../openapi/openapi-document.ts';
import { jsonType } from '../../routes/create-response.ts';
import { requireActing } from './action-token.ts';
import type { AdminContext } from './admin-context.ts';
import { adminMount } from './admin-mount.ts';
import { adminRoutes } from './admin-routes.ts';
import { registerPlayground } from './playground-mount.ts';

/**
 * The admin API, which serves the console and anybody else who may see the admin listener. It only reads unless a request carries
 * the action token; see `action-token.ts`. Errors have the envelope of the Responses API.
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
            if (acts) requireActing(request.raw, context);
            next();
          },
          handler: (request, reply) => answer(request, reply, context),
        });
      }
      registerPlayground(mount, context);
      // Made when it is asked for: few processes are, and none should start later for it.
      let document: string | undefined;
      mount.get('/openapi.json', (_request, reply) => {
        document ??= JSON.stringify(openApiDocument());
        return reply.type(jsonType).send(document);
      });
      done();
    },
    { prefix: adminMount },
  );
}

/** An empty body is none: there are clients that name its type all the same. */
function parseJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError('invalid_json', { cause });
  }
}
