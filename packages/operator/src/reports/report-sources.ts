import type { Settings } from '@sluice/config';
import type { ResponseQueues } from '@sluice/queue';
import type { ResponseStores } from '@sluice/response-store';
import type { Logger, RedisMemory, RedisWatch } from '@sluice/runtime';
import type { AnnouncedProcess, HistoryReader, StatsReader } from '@sluice/service-stats';
import type { KnownKeys, LiveSettings, TenantReporter } from '@sluice/tenants';

/** Where the reports for operators come from. Whatever reads Redis rejects while Redis does not answer. */
export interface ReportSources {
  settings: Pick<Settings, 'models' | 'console'>;
  live: Pick<LiveSettings, 'keys' | 'limits'>;
  keys: { readonly known: KnownKeys };
  /** The limits and the use of tenants, in their order. */
  tenantUse: TenantReporter;
  /** How many jobs run at once of each queue that is served, by its encoded name; undefined for no limit. */
  models: { readonly queueLimits: ReadonlyMap<string, number | undefined> };
  queue: Pick<ResponseQueues, 'depth' | 'names'>;
  store: Pick<ResponseStores, 'acceptedAt'>;
  stats: Pick<StatsReader, 'read' | 'forget'>;
  history: Pick<HistoryReader, 'read'>;
  processes: () => Promise<AnnouncedProcess[]>;
  lostProcesses: () => Promise<AnnouncedProcess[]>;
  memory: Pick<RedisMemory, 'used' | 'usedPercent'>;
  /** `away`: cells whose Redis is not well. */
  redis: Pick<RedisWatch, 'facts'> & { away: readonly string[] };
  /** The store's clock, in milliseconds. */
  now: () => number;
  logger: Logger;
}
