import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';

/** `GET /metrics`: the figures of this process, as Prometheus reads them. */
export function registerMetrics(app: FastifyInstance, registry: Registry): void {
  app.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  );
}
