import type { Overview } from '@sluice/contract/admin';
import { throttledWarning } from '@sluice/runtime';
import { noFigures, type StatsReading } from '@sluice/service-stats';
import { heardProcesses, processRows, upstreamRows } from './process-report.ts';
import { queueRows, readQueues } from './queue-report.ts';
import type { ReportSources } from './report-sources.ts';

/** Most tenants that are shown; the busiest. */
const mostTenants = 50;

/** Reads everything that the overview shows. */
export class OverviewReader {
  readonly #sources: ReportSources;
  readonly #warn: (error: unknown) => void;

  constructor(sources: ReportSources) {
    this.#sources = sources;
    this.#warn = throttledWarning(sources.logger, 'part of the overview not read').warn;
  }

  /** A part that cannot be read is named in `missing`. Rejects when none can, as while Redis does not answer. */
  async read(): Promise<Overview> {
    const { settings, stats, processes, lostProcesses, now } = this.#sources;
    const at = now();
    const parts = await Promise.allSettled([
      stats.read(),
      processes(),
      readQueues(this.#sources),
      lostProcesses(),
    ]);
    const failed = parts.filter((part) => part.status === 'rejected');
    if (failed.length === parts.length) throw failed[0]?.reason;
    for (const { reason } of failed) this.#warn(reason);
    const [hour, announced, queues, silent] = parts;
    const heard = announced.status === 'fulfilled' ? heardProcesses(announced.value) : [];
    const lost = silent.status === 'fulfilled' ? heardProcesses(silent.value) : [];
    const isOff = !settings.console.statistics;
    const missing = [
      ...(hour.status === 'rejected' || isOff ? (['statistics'] as const) : []),
      ...(announced.status === 'rejected' || silent.status === 'rejected' || isOff
        ? (['processes'] as const)
        : []),
      ...(queues.status === 'rejected' ? (['queues'] as const) : []),
    ];
    return {
      object: 'overview',
      at,
      bucket_seconds: 10,
      ...(hour.status === 'fulfilled' ? ofHour(hour.value) : nothing()),
      queues: queues.status === 'fulfilled' ? queueRows(queues.value, heard, this.#sources) : [],
      processes: processRows(heard),
      ...(lost.length > 0 && { lost: processRows(lost) }),
      upstreams: upstreamRows(heard, now()),
      redis: this.#redis(),
      ...(missing.length > 0 && { missing }),
    };
  }

  /** Forgets what it remembers from one reading to the next. */
  forget(): void {
    this.#sources.stats.forget();
  }

  #redis(): Overview['redis'] {
    const { memory, redis, live } = this.#sources;
    const { used } = memory;
    const facts = redis.facts;
    return {
      used_bytes: used?.usedBytes ?? 0,
      limit_bytes: used?.limitBytes ?? null,
      used_percent: used?.limitBytes === undefined ? null : Math.round(memory.usedPercent * 10) / 10,
      refuses_at_percent: live.limits.redisMemoryPercent,
      version: facts?.version ?? 'unknown',
      is_persistent:
        facts !== undefined && (facts.isEmbedded || facts.appendOnly === true || (facts.save ?? '') !== ''),
      ...(redis.away.length > 0 && { cells_away: [...redis.away] }),
    };
  }
}

type OfHour = Pick<Overview, 'buckets' | 'hour' | 'errors' | 'models' | 'tenants'>;

function ofHour({ spans, total, models, tenants, codes }: StatsReading): OfHour {
  return {
    buckets: spans.map(({ at, figures }) => ({ at, ...figures })),
    hour: total,
    errors: [...codes]
      .map(([value, count]) => ({ value, count }))
      .toSorted((one, other) => other.count - one.count),
    models: [...models]
      .map(([model, figures]) => ({ model, ...figures }))
      .toSorted((one, other) => other.accepted - one.accepted),
    tenants: [...tenants]
      .map(([tenant, figures]) => ({
        tenant,
        accepted: figures.accepted,
        failed: figures.failed,
        refused: figures.refused,
        input_tokens: figures.input_tokens,
        output_tokens: figures.output_tokens,
      }))
      .toSorted((one, other) => tokensOf(other) - tokensOf(one) || requestsOf(other) - requestsOf(one))
      .slice(0, mostTenants),
  };
}

type TenantUse = Overview['tenants'][number];

const tokensOf = (use: TenantUse) => use.input_tokens + use.output_tokens;
const requestsOf = (use: TenantUse) => use.accepted + use.refused;

function nothing(): OfHour {
  return { buckets: [], hour: noFigures, errors: [], models: [], tenants: [] };
}
