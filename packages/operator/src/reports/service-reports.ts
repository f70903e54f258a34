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
import { keyRows } from './key-rows.ts';
import { OverviewFeed } from './overview-feed.ts';
import { OverviewReader } from './overview-reader.ts';
import { heardProcesses } from './process-report.ts';
import { queueRows, readQueues } from './queue-report.ts';
import type { ReportSources } from './report-sources.ts';
import { TenantDirectory } from './tenant-directory.ts';
import { tenantRows } from './tenant-rows.ts';

/** Reports on the service as a whole. Whatever reads Redis rejects while Redis does not answer. */
export interface ServiceReports {
  overview: OverviewFeed;
  history: (span: HistorySpan) => Promise<History>;
  queues: () => Promise<QueueList>;
  tenants: (query: TenantPageQuery) => Promise<TenantList>;
  keys: (query: KeyPageQuery) => Promise<KeyList>;
}

/** The statistics are read over the connection, unless `sources` has them. */
export interface ServiceReportsOptions
  extends Omit<ReportSources, 'stats' | 'history' | 'processes' | 'lostProcesses'>,
    Pick<StatsReaderOptions, 'keyPrefix'> {
  connection: StatsReaderOptions['connection'] & Parameters<typeof readProcesses>[0]['connection'];
  sources?: Partial<ReportSources> | undefined;
}

export function serviceReports(options: ServiceReportsOptions): ServiceReports {
  const sources: ReportSources = {
    ...options,
    stats: new StatsReader(options),
    history: new HistoryReader(options),
    processes: () => readProcesses(options, options.now()),
    lostProcesses: () => readLostProcesses(options, options.now()),
    ...options.sources,
  };
  const directory = new TenantDirectory(sources.live);
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
        sources.processes().catch(() => []), // Queues are worth reporting without their slots.
      ]);
      return { object: 'list', data: queueRows(read, heardProcesses(announced), sources) };
    },
    tenants: (query) => tenantRows(sources, directory, query),
    keys: (query) => keyRows(sources, query),
  };
}
