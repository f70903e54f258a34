import { livenessSchema, readinessSchema } from '@sluice/contract';
import type { Readiness } from '@sluice/runtime';
import { defineRoute, json } from '../route.ts';

export const reportLiveness = defineRoute({
  name: 'reportLiveness',
  method: 'GET',
  path: '/healthz',
  summary: 'The process lives.',
  answers: [json(livenessSchema)],
  errors: ['invalid_request'],
  handle: () => ({ status: 'ok' }),
});

export const reportReadiness = defineRoute({
  name: 'reportReadiness',
  method: 'GET',
  path: '/readyz',
  summary:
    'Says whether the process can take requests. It cannot while the store is away or takes no writes, or while it stops.',
  answers: [json(readinessSchema), json(readinessSchema, { status: 503 })],
  errors: ['invalid_request'],
  async handle({ reply }, { readiness }: { readiness: () => Promise<Readiness> }) {
    const { isReady, checks } = await readiness();
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not_ready', checks });
  },
});
