import { type LiveSettings, suggestName } from '@sluice/config';
import type { TenantReporter } from '@sluice/operator';
import type { FastifyInstance } from 'fastify';

export interface TenantsOptions {
  reports: { tenantUse: TenantReporter };
  live: Pick<LiveSettings, 'keys'>;
}

/**
 * `GET /tenants`: what each tenant may do, and what it uses of that now. `?tenant=` asks for one.
 *
 * It knows the tenants of the keys in effect. While the stored keys are not known it answers 503, rather than leave their
 * tenants out.
 */
export function registerTenants(app: FastifyInstance, { reports, live }: TenantsOptions): void {
  app.get<{ Querystring: { tenant?: unknown } }>('/tenants', async (request, reply) => {
    const { tenant } = request.query;
    const { keys } = live;
    if (!keys.isComplete) {
      const error = 'The keys in Redis are not known yet. Try again once the api is ready.';
      return reply.code(503).send({ error });
    }
    const tenants = keys.tenants();
    const asked = tenant === undefined ? tenants : tenants.filter(({ name }) => name === tenant);
    if (tenant !== undefined && asked.length === 0) {
      const names = tenants.map(({ name }) => name);
      const hint = typeof tenant === 'string' ? suggestName(tenant, names) : 'give it once';
      const error = `'tenant' is not the name of a tenant with a key: ${hint}`;
      return reply.code(404).send({ error });
    }
    return reply.send(await reports.tenantUse(asked));
  });
}
