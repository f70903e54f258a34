import type { LiveSettings, Settings } from '@sluice/config';
import type { ResponseQueue } from '@sluice/queue';
import type { ResponseStore } from '@sluice/response-store';
import type { Logger, RedisMemory, RedisWatch } from '@sluice/runtime';
import type { AnnouncedProcess, HistoryReader, StatsReader } from '@sluice/service-stats';
import type { KeysInEffect } from '../../keys-in-effect.ts';

/** Where the reports for operators come from. What reads Redis rejects while it does not answer. */
export interface ReportSources {
  settings: Pick<Settings, 'models' | 'console'>;
  live: Pick<LiveSettings, 'keys' | 'limits'>;
  keys: Pick<KeysInEffect, 'known'>;
  queue: Pick<ResponseQueue, 'depth'>;
  store: Pick<ResponseStore, 'acceptedAt' | 'tenantUse'>;
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
