import type { FastifyInstance } from 'fastify';

/** `GET /`: leads to the dashboard. */
export function registerRoot(app: FastifyInstance, dashboardPath: string): void {
  app.get('/', (_request, reply) => reply.redirect(dashboardPath));
}
