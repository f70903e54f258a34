import type { ResponseQueues } from '@sluice/queue';
import type { FastifyInstance } from 'fastify';
import { serveOnFirstVisit } from '../on-first-visit.ts';

const queuesPath = '/queues';

/** `GET /queues`: bull-board's dashboard; see `dashboard.ts`. */
export function registerQueues(app: FastifyInstance, queue: ResponseQueues): void {
  serveOnFirstVisit(app, queuesPath, async (part) => {
    const { registerDashboard } = await import('./dashboard.ts');
    await registerDashboard(part, queuesPath, queue);
  });
}
