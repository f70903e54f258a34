import { hostname } from 'node:os';
import type { ApiAnnouncement } from '@sluice/contract/admin';
import { serviceVersion } from '@sluice/runtime';
import { type ProcessStats, type ProcessStatsOptions, statsOf } from '@sluice/service-stats';

export interface ApiStatsOptions extends Omit<ProcessStatsOptions, 'report' | 'will'> {
  isStopping: () => boolean;
  openRequests: () => number;
  webSockets: () => number;
}

/** The part of an api in what the console shows of the service. */
export function apiStats({
  isStopping,
  openRequests,
  webSockets,
  ...options
}: ApiStatsOptions): ProcessStats {
  let startedAt: number | undefined;
  const report = (): ApiAnnouncement => ({
    role: 'api',
    host: hostname(),
    pid: process.pid,
    version: serviceVersion,
    started_at: (startedAt ??= options.clock.now()),
    stopping: isStopping(),
    open_requests: openRequests(),
    web_sockets: webSockets(),
  });
  return statsOf({ ...options, report, will: report });
}
