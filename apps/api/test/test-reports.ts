import { createLogger } from '@sluice/runtime';
import { type ServiceReports, serviceReports, statsSources } from '../src/admin/reports/service-reports.ts';
import type { ReportSources } from '../src/admin/reports/report-sources.ts';
import type { TestApi } from './test-api.ts';

/** The reports over the Redis of a test api; `more` in place of a part of them. */
export function testReports(api: TestApi, more: Partial<ReportSources> = {}): ServiceReports {
  const { settings, live, queue, store } = api;
  return serviceReports({
    settings,
    live,
    queue,
    store,
    keys: { known: { file: settings.keys, stored: [], revokedAt: ({ revokedAt }) => revokedAt } },
    memory: { used: { usedBytes: 1, limitBytes: 100 }, usedPercent: 1 },
    redis: { facts: undefined },
    ...statsSources({ connection: api.redis.client, keyPrefix: api.keys.prefix, now: () => Date.now() }),
    logger: createLogger({ name: 'api', level: 'silent' }),
    ...more,
  });
}
