import {
  changedTenantSchema,
  createKeySchema,
  issuedKeySchema,
  revokedKeySchema,
  tenantLimitsChangeSchema,
} from '@sluice/contract/admin';
import { z } from 'zod';
import { json, schemaErrors } from '../../../route.ts';
import { actingErrors, actingRoute, askerOf, jsonBody } from '../admin-route.ts';

export const createApiKey = actingRoute({
  name: 'createApiKey',
  method: 'POST',
  path: '/keys',
  summary: 'Makes an API key, stores its hash, and tells the key, once. Every api takes it within seconds.',
  body: jsonBody(createKeySchema, { tenant: 'team', models: ['*'], limits: { requestsPerMinute: 60 } }),
  answers: [json(issuedKeySchema)],
  errors: [...actingErrors, ...schemaErrors],
  handle: ({ body, request }, { operator }) => operator.keys.create(body, askerOf(request)),
});

export const revokeApiKey = actingRoute({
  name: 'revokeApiKey',
  method: 'POST',
  path: '/keys/:id/revoke',
  summary: 'Revokes a stored key. Responses that it has created go on.',
  params: z.object({ id: z.string() }),
  answers: [json(revokedKeySchema)],
  errors: [...actingErrors, 'not_found', 'invalid_value'],
  handle: ({ params: { id }, request }, { operator }) => operator.keys.revoke(id, askerOf(request)),
});

export const changeTenantLimits = actingRoute({
  name: 'changeTenantLimits',
  method: 'POST',
  path: '/tenants/:tenant/limits',
  summary:
    'Changes the weight and the limits of a tenant in all of its stored keys. Every api follows within seconds.',
  params: z.object({ tenant: z.string() }),
  body: jsonBody(tenantLimitsChangeSchema, { limits: { concurrent: 8, tokensPerMinute: null } }),
  answers: [json(changedTenantSchema)],
  errors: [...actingErrors, ...schemaErrors, 'not_found'],
  handle: ({ params: { tenant }, body, request }, { operator }) =>
    operator.keys.limit(tenant, body, askerOf(request)),
});
