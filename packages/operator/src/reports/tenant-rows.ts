import { ServiceError } from '@sluice/contract';
import type { TenantList, TenantPageQuery } from '@sluice/contract/admin';
import type { ReportSources } from './report-sources.ts';
import type { TenantDirectory } from './tenant-directory.ts';

/** How far back shares look, in minutes, the present one included. */
const shareMinutes = 6;

/**
 * A page of tenants: what each may do, what it uses of that now, and its share of the output of the last five minutes. Those with
 * the most of it come first.
 *
 * Rejects while Redis does not answer, or while the stored keys are not known. Without the statistics there are no shares.
 */
export async function tenantRows(
  { stats, live, now, tenantUse }: Pick<ReportSources, 'stats' | 'live' | 'now' | 'tenantUse'>,
  directory: TenantDirectory,
  query: TenantPageQuery,
): Promise<TenantList> {
  if (!live.keys.isComplete) {
    throw new ServiceError('server_is_overloaded', 'The stored keys are not known yet. Please try again.');
  }
  const recent = await stats.read(shareMinutes).catch(() => undefined);
  const tokensOf = (name: string) => recent?.tenants.get(name)?.output_tokens ?? 0;
  const first = [...(recent?.tenants.keys() ?? [])]
    .filter((name) => tokensOf(name) > 0)
    .toSorted((one, other) => tokensOf(other) - tokensOf(one));
  const { tenants, hasMore } = await directory.page(query, { first, now: now() });
  const report = await tenantUse(tenants.map(({ tenant }) => tenant));
  const active = [...(recent?.tenants ?? [])].filter(
    ([, { accepted, output_tokens: tokens }]) => accepted > 0 || tokens > 0,
  );
  const weights = await directory.weightsOf(active.map(([name]) => name));
  const allWeights = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const allTokens = recent?.total.output_tokens ?? 0;
  return {
    object: 'list',
    data: report.tenants.map((row, at) => {
      const weight = weights.get(row.tenant);
      return {
        ...row,
        share: allTokens > 0 ? Math.min(1, tokensOf(row.tenant) / allTokens) : null,
        // Among those who were active; the others had no share to be fair or not.
        fair_share: weight === undefined ? null : weight / allWeights,
        keys: tenants[at]?.keys ?? 0,
      };
    }),
    has_more: hasMore,
  };
}
