import { auditListSchema } from '@sluice/contract/admin';
import { z } from 'zod';
import { json, schemaErrors } from '../../../route.ts';
import { readingErrors, readingRoute } from '../admin-route.ts';
import { pageSize, placeInLog } from './query-values.ts';

const querySchema = z.object({
  limit: pageSize(200, 50),
  after: placeInLog('after', /^\d{1,15}-\d{1,15}$/).optional(),
});

export const listAudit = readingRoute({
  name: 'listAudit',
  method: 'GET',
  path: '/audit',
  summary: 'Acts through this API, newest first: each act as it was asked for, and its outcome.',
  query: querySchema,
  answers: [json(auditListSchema)],
  errors: [...readingErrors, ...schemaErrors],
  async handle({ query: { limit, after } }, { operator }) {
    const { entries, next } = await operator.audit.page({ before: after, limit });
    return { object: 'list', data: entries, has_more: next !== undefined, next: next ?? null };
  },
});
