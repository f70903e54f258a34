import {
  type Announcement,
  announcementSchema,
  type ProcessOverview,
  type UpstreamOverview,
  type WorkerAnnouncement,
} from '@sluice/contract/admin';
import type { AnnouncedProcess } from '@sluice/service-stats';

/** A process, and its last announcement. */
export interface HeardProcess {
  id: string;
  seenAt: number;
  said: Announcement;
}

/** The processes whose announcement can be read. Those of another release that this one does not know are left out. */
export function heardProcesses(announced: readonly AnnouncedProcess[]): HeardProcess[] {
  return announced.flatMap(({ id, seenAt, report }) => {
    const { data } = announcementSchema.safeParse(report);
    return data ? [{ id, seenAt, said: data }] : [];
  });
}

/** The rows of processes: apis before workers, each by host and age. */
export function processRows(processes: readonly HeardProcess[]): ProcessOverview[] {
  return processes
    .map(({ id, seenAt, said }): ProcessOverview => {
      if (said.role === 'api') return { ...said, id, seen_at: seenAt };
      const { upstreams: _, ...worker } = said;
      return { ...worker, id, seen_at: seenAt };
    })
    .toSorted(
      (one, other) =>
        one.role.localeCompare(other.role) ||
        one.host.localeCompare(other.host) ||
        one.started_at - other.started_at ||
        one.id.localeCompare(other.id),
    );
}

type ReportedUpstream = WorkerAnnouncement['upstreams'][number];
type ReportedModel = ReportedUpstream['models'][number];

const breakers = ['closed', 'half_open', 'open'] as const;

/** Each upstream over all workers, the servers of one provider apart; `now` by the clock of `seenAt`. */
export function upstreamRows(processes: readonly HeardProcess[], now: number): UpstreamOverview[] {
  const reports = processes.flatMap(({ said, seenAt }) =>
    said.role === 'worker' ? said.upstreams.map((upstream) => aged(upstream, now - seenAt)) : [],
  );
  const byServer = Map.groupBy(reports, ({ provider, server = '' }) => `${provider} ${server}`);
  return [...byServer.values()].flatMap((ofWorkers) => {
    const [first] = ofWorkers;
    return first ? [rowOf(first, ofWorkers)] : [];
  });
}

function rowOf(
  { provider, server }: ReportedUpstream,
  ofWorkers: readonly ReportedUpstream[],
): UpstreamOverview {
  const missing = ofWorkers.find((each) => each.missing_variable !== undefined)?.missing_variable;
  return {
    provider,
    ...(server !== undefined && { server }),
    breaker: breakers.findLast((state) => ofWorkers.some(({ breaker }) => breaker === state)) ?? 'closed',
    workers_open: ofWorkers.filter(({ breaker }) => breaker !== 'closed').length,
    workers: ofWorkers.length,
    metrics_fault: ofWorkers.find(({ metrics_fault: fault }) => fault !== null)?.metrics_fault ?? null,
    ...(missing !== undefined && { missing_variable: missing }),
    models: [
      ...Map.groupBy(
        ofWorkers.flatMap(({ models }) => models),
        ({ model }) => model,
      ),
    ].map(([model, some]) => sumOf(model, some)),
  };
}

/** An upstream as it is some time after the announcement. */
function aged(upstream: ReportedUpstream, elapsedMs: number): ReportedUpstream {
  return {
    ...upstream,
    models: upstream.models.map((model) => ({
      ...model,
      parked_ms: Math.max(0, model.parked_ms - elapsedMs),
    })),
  };
}

function sumOf(model: string, some: readonly ReportedModel[]): ReportedModel {
  const sum = (of: (each: ReportedModel) => number) => some.reduce((all, each) => all + of(each), 0);
  // Without a bound in one worker there is none in all.
  const bound = (of: (each: ReportedModel) => number | null) =>
    some.some((each) => of(each) === null) ? null : sum((each) => of(each) ?? 0);
  return {
    model,
    parked_ms: Math.max(...some.map(({ parked_ms: parkedMs }) => parkedMs)),
    in_flight: sum((each) => each.in_flight),
    limit: bound((each) => each.limit),
    calls_per_second: bound((each) => each.calls_per_second),
    waiting: sum((each) => each.waiting),
  };
}
