import type { FastifyInstance } from 'fastify';
import { Playground } from './playground.ts';
import type { AdminContext } from './admin-context.ts';
import { adminMount } from './admin-mount.ts';

/** Where requests begin that are passed on to the API. */
export const playgroundPath = '/playground';

/**
 * `/admin/v1/playground/v1/…`: the API itself, as `Playground` passes it on. It is no route of the list, because it answers
 * with what the API describes.
 */
export function registerPlayground(mount: FastifyInstance, { apiUrl, live }: AdminContext): void {
  const playground = new Playground({ apiUrl, bodyBytes: () => live.limits.bodyBytes });
  const prefix = `${adminMount}${playgroundPath}`;
  void mount.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    // Bodies are passed on as they come.
    scope.addContentTypeParser('*', (_request, body, parsed) => parsed(null, body));
    scope.route({
      method: ['GET', 'POST', 'DELETE'],
      url: `${playgroundPath}/*`,
      exposeHeadRoute: false,
      handler: (request, reply) => playground.pass(request, reply, request.url.slice(prefix.length)),
    });
    done();
  });
}
