import { limitsInEffect } from '@sluice/config';
import type {
  History,
  KeyList,
  KeyPageQuery,
  QueueList,
  TenantList,
  TenantPageQuery,
} from '@sluice/contract/admin';
import {
  HistoryReader,
  type HistorySpan,
  readLostProcesses,
  readProcesses,
  StatsReader,
  type StatsReaderOptions,
} from '@sluice/service-stats';
import { reportTenants, type TenantReporter } from '../tenant-report.ts';
import { keyRows } from './key-rows.ts';
import { OverviewFeed } from './overview-feed.ts';
import { OverviewReader } from './overview-reader.ts';
import { heardProcesses } from './process-report.ts';
import { queueRows, readQueues } from './queue-report.ts';
import type { ReportSources } from './report-sources.ts';
import { TenantDirectory } from './tenant-directory.ts';
import { tenantRows } from './tenant-rows.ts';

/** What operators are told of the service as a whole. What reads Redis rejects while it does not answer. */
export interface ServiceReports {
  overview: OverviewFeed;
  history: (span: HistorySpan) => Promise<History>;
  queues: () => Promise<QueueList>;
  tenants: (query: TenantPageQuery) => Promise<TenantList>;
  keys: (query: KeyPageQuery) => KeyList;
}

/** The sources that are in Redis beside the queues and the store. */
export function statsSources(
  options: StatsReaderOptions & Parameters<typeof readProcesses>[0],
): Pick<ReportSources, 'stats' | 'history' | 'processes' | 'lostProcesses' | 'now'> {
  return {
    stats: new StatsReader(options),
    history: new HistoryReader(options),
    processes: () => readProcesses(options, options.now()),
    lostProcesses: () => readLostProcesses(options, options.now()),
    now: options.now,
  };
}

export function serviceReports(sources: ReportSources): ServiceReports {
  const directory = new TenantDirectory(sources.live);
  const { store, live, memory } = sources;
  const tenantUse: TenantReporter = (tenants) =>
    reportTenants(store, tenants, (own) => limitsInEffect(own, live.limits, memory.used?.limitBytes));
  return {
    overview: new OverviewFeed(new OverviewReader(sources)),
    async history(span) {
      const { at, spanMs, spans } = await sources.history.read(span);
      const buckets = spans.map(({ at: begin, figures }) => ({ at: begin, ...figures }));
      return { object: 'history', at, bucket_seconds: spanMs / 1000, buckets };
    },
    async queues() {
      const [read, announced] = await Promise.all([
        readQueues(sources),
        sources.processes().catch(() => []), // The queues are there without their slots, too.
      ]);
      return { object: 'list', data: queueRows(read, heardProcesses(announced), sources) };
    },
    tenants: (query) => tenantRows({ ...sources, tenantUse }, directory, query),
    keys: (query) => keyRows(sources, query),
  };
}
