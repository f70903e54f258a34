import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { makePlainApp } from './plain-app.ts';

/**
 * Serves `GET path` and everything under it by an app of its own, whose routes are registered at the first visit: their packages are large, and
 * few processes are ever visited. Hooks of `app` have let the visitor in before, and headers that they set are part of the answer, unless
 * a route sets them, too. A visit while registering fails is answered as an error of `app`, and the next one tries again.
 */
export function serveOnFirstVisit(
  app: FastifyInstance,
  path: string,
  register: (part: FastifyInstance) => Promise<void>,
): void {
  let opened: Promise<FastifyInstance> | undefined;
  const open = async () => {
    const part = makePlainApp(app.log);
    await register(part);
    await part.ready();
    return part;
  };
  const visit = async (request: FastifyRequest, reply: FastifyReply) => {
    opened ??= open();
    const part = await opened.catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    part.routing(request.raw, reply.raw);
  };
  app.get(path, visit);
  app.get(`${path}/*`, visit);
  app.addHook('onClose', async () => {
    const part = await opened?.catch(() => undefined);
    await part?.close();
  });
}
