import type { KeySettings, LiveSettings, Settings, StoredKey, Tenant } from '@sluice/config';
import type { TenantReportRow } from '@sluice/contract/admin';
import type { ResponseQueue } from '@sluice/queue';
import type { ResponseStore } from '@sluice/response-store';
import type { Logger, RedisMemory, RedisWatch } from '@sluice/runtime';
import type { AnnouncedProcess, HistoryReader, StatsReader } from '@sluice/service-stats';

/** Where the reports for operators come from. Whatever reads Redis rejects while Redis does not answer. */
export interface ReportSources {
  settings: Pick<Settings, 'models' | 'console'>;
  live: Pick<LiveSettings, 'keys' | 'limits'>;
  keys: { readonly known: KnownKeys };
  /** The limits and the use of tenants, in their order. */
  tenantUse: TenantReporter;
  queue: Pick<ResponseQueue, 'depth'>;
  store: Pick<ResponseStore, 'acceptedAt'>;
  stats: Pick<StatsReader, 'read' | 'forget'>;
  history: Pick<HistoryReader, 'read'>;
  processes: () => Promise<AnnouncedProcess[]>;
  lostProcesses: () => Promise<AnnouncedProcess[]>;
  memory: Pick<RedisMemory, 'used' | 'usedPercent'>;
  redis: Pick<RedisWatch, 'facts'>;
  /** The store's clock, in milliseconds. */
  now: () => number;
  logger: Logger;
}

/** All keys there are, in effect or not. */
export interface KnownKeys {
  file: readonly KeySettings[];
  /** Undefined until Redis has answered. */
  stored: readonly StoredKey[] | undefined;
  /** When a key was revoked, also where Redis has lost that. */
  revokedAt: (key: StoredKey) => string | undefined;
}

export type TenantReporter = (tenants: readonly Tenant[]) => Promise<{ tenants: ReportedTenant[] }>;

type ReportedTenant = Pick<TenantReportRow, 'tenant' | 'weight' | 'tiers' | 'models' | 'limits' | 'use'>;
