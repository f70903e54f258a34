import type { FastifyInstance } from 'fastify';

/** `GET /`: leads to the console. */
export function registerRoot(app: FastifyInstance, path: string): void {
  app.get('/', (_request, reply) => reply.redirect(path));
}
