import type { Tenant } from '@sluice/config';
import type { ResponseStore, TenantUseNow } from '@sluice/response-store';

/** What operators are told of a tenant, in the names of the wire. */
export interface ReportedTenant {
  tenant: string;
  weight: number;
  tiers: readonly string[];
  /** Ids of models; `*` is all of them. */
  models: readonly string[];
  /** `null` is no limit. */
  limits: {
    requests_per_minute: number | null;
    tokens_per_minute: number | null;
    concurrent: number | null;
    queued: number | null;
    queued_bytes: number | null;
    max_output_tokens: number | null;
  };
  /** `null` where nobody counts, because there is no limit. */
  use: {
    requests_in_minute: number | null;
    tokens_in_minute: number | null;
    /** Those in line included. */
    waiting: number;
    waiting_bytes: number;
    running: number | null;
    /** Waiting for one of `concurrent`, outside of their queues. */
    in_line: number | null;
  };
}

/** The answer of `GET /tenants`, and what `sluice tenants --json` prints. */
export interface TenantReport {
  tenants: ReportedTenant[];
}

/** Says of tenants, in their order, what they may do and what they use now. */
export async function reportTenants(
  store: Pick<ResponseStore, 'tenantUse'>,
  tenants: readonly Tenant[],
): Promise<TenantReport> {
  const uses = await store.tenantUse(tenants);
  return {
    tenants: tenants.flatMap((tenant, at) => {
      const use = uses[at];
      return use ? [reported(tenant, use)] : [];
    }),
  };
}

function reported({ name, weight, tiers, models, limits }: Tenant, use: TenantUseNow): ReportedTenant {
  return {
    tenant: name,
    weight,
    tiers,
    models,
    limits: {
      requests_per_minute: limits.requestsPerMinute ?? null,
      tokens_per_minute: limits.tokensPerMinute ?? null,
      concurrent: limits.concurrent ?? null,
      queued: limits.queued ?? null,
      queued_bytes: limits.queuedBytes ?? null,
      max_output_tokens: limits.maxOutputTokens ?? null,
    },
    use: {
      requests_in_minute: use.requests ?? null,
      tokens_in_minute: use.tokens ?? null,
      waiting: use.waiting,
      waiting_bytes: use.waitingBytes,
      running: use.running ?? null,
      in_line: use.inLine ?? null,
    },
  };
}
