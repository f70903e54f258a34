import type { FastifyInstance } from 'fastify';

export interface Readiness {
  isReady: boolean;
  checks: Record<string, boolean>;
}

/**
 * `GET /healthz`: the process lives. `GET /readyz`: it can take requests, which it cannot while the store is
 * away or while it stops.
 */
export function registerHealth(app: FastifyInstance, readiness: () => Promise<Readiness>): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    const { isReady, checks } = await readiness();
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not_ready', checks });
  });
}
