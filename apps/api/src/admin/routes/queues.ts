import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { ResponseQueue } from '@sluice/queue';
import type { FastifyInstance } from 'fastify';

export const queuesPath = '/queues';

/** `GET /queues`: bull-board's dashboard, read-only, with the jobs of every queue. */
export async function registerQueues(app: FastifyInstance, queue: ResponseQueue): Promise<void> {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(queuesPath);
  createBullBoard({
    queues: queue.forDashboard().map(
      (each) =>
        new BullMQAdapter(each, {
          readOnlyMode: true,
          allowRetries: false,
          displayName: decodeURIComponent(each.name),
        }),
    ),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Sluice queues', hideRedisDetails: true } },
  });
  await app.register(async (scope) => {
    scope.addHook('onSend', (_request, reply, payload, done) => {
      const isPage =
        typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html');
      done(null, isPage ? payload.replaceAll(foreignLink, '') : payload);
    });
    await scope.register(adapter.registerPlugin(), { prefix: queuesPath });
  });
}

/** bull-board's page loads a font from elsewhere. The policy of the listener forbids that, so every load was an error. */
const foreignLink = /<link\b[^>]*\bhref="https:\/\/[^>]*>/g;
