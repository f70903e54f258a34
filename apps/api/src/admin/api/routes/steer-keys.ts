import {
  changedTenantSchema,
  createKeySchema,
  issuedKeySchema,
  revokedKeySchema,
  type TenantLimitsChange,
  tenantLimitsChangeSchema,
} from '@sluice/contract/admin';
import { z } from 'zod';
import { json } from '../../../route.ts';
import { actingRoute, jsonBody } from '../admin-route.ts';
import { actingErrors, schemaErrors } from './acting-errors.ts';
import { askedAct } from './asked-act.ts';

/** An id as keys have it. Whatever else is given may be the key itself, which is not written down. */
const keyId = /^(key_[0-9A-Za-z]{1,60}|file:\d{1,6})$/;

export const createApiKey = actingRoute({
  name: 'createApiKey',
  method: 'POST',
  path: '/keys',
  summary: 'Makes an API key, stores its hash, and tells the key, once. Every api takes it within seconds.',
  body: jsonBody(createKeySchema, { tenant: 'team', models: ['*'], limits: { requestsPerMinute: 60 } }),
  answers: [json(issuedKeySchema)],
  errors: [...actingErrors, ...schemaErrors],
  handle({ body, request }, { acting }) {
    return acting.audit.perform(
      askedAct(request, 'key.create', body.tenant),
      () => acting.keys.create(body),
      ({ id }) => id,
    );
  },
});

export const revokeApiKey = actingRoute({
  name: 'revokeApiKey',
  method: 'POST',
  path: '/keys/:id/revoke',
  summary: 'Refuses a stored key from now on. What it had asked for before goes on.',
  params: z.object({ id: z.string() }),
  answers: [json(revokedKeySchema)],
  errors: [...actingErrors, 'not_found', 'invalid_value'],
  handle({ params: { id }, request }, { acting }) {
    return acting.audit.perform(
      askedAct(request, 'key.revoke', keyId.test(id) ? id : 'not the id of a key'),
      () => acting.keys.revoke(id),
      ({ tenant }) => tenant,
    );
  },
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
  handle({ params: { tenant }, body, request }, { acting }) {
    return acting.audit.perform(
      askedAct(request, 'tenant.limit', tenant),
      () => acting.keys.limit(tenant, body),
      () => changeWords(body),
    );
  },
});

/** A change for the audit log, such as `weight 2, concurrent none`. */
function changeWords({ weight, limits }: TenantLimitsChange): string {
  const said = Object.entries({ ...(weight !== undefined && { weight }), ...limits });
  return said.map(([name, value]) => `${name} ${value ?? 'none'}`).join(', ');
}
