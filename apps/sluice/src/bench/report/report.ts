import type { BenchSettings, Extent } from '../flags/bench-settings.ts';
import type { Weighted } from '../load/deck.ts';
import type { Distribution, Histogram } from './histogram.ts';
import { modes } from '../load/request-bodies.ts';
import type { RunResult } from '../load/run-load.ts';
import type { FailureCount, RunTally, Tally } from './tally.ts';
import type { Tenant } from '../flags/tenants.ts';

/** The results of a group of requests. Durations are in milliseconds; `null` where there is nothing to measure. */
export interface GroupReport {
  /** All that were begun, or due and not sent. */
  requests: number;
  answered: number;
  errors: number;
  unfinished: number;
  not_sent: number;
  retries: number;
  polls: number;
  /** Answered ones. */
  requests_per_second: number;
  /** By the endpoint's own count; null when it sends no usage. */
  input_tokens: number | null;
  output_tokens: number | null;
  output_tokens_per_second: number | null;
  /** Events with a piece of output, of answered streams. */
  output_events: number;
  output_events_per_second: number;
  time_to_first_token_ms: Distribution | null;
  time_between_tokens_ms: Distribution | null;
  time_to_acceptance_ms: Distribution | null;
  latency_ms: Distribution | null;
  errors_by_cause: FailureCount[];
  /** Answers with 429, also those that were tried again, and how long they said to wait. */
  rate_limited: { count: number; retry_after_ms: Distribution | null };
}

/** The report of a run, as `--json` prints it. It holds no key. */
export interface Report {
  /** Raised when a member changes its meaning or goes. */
  version: 1;
  started_at: string;
  settings: ReportedSettings;
  elapsed_seconds: number;
  ended_by: RunResult['endedBy'];
  /** Share of the time in which the tool itself was busy. Close to 1, it measures itself. */
  tool_busy_share: number;
  /** How late requests of an open loop were sent. It is part of their latency. */
  sent_late_ms: Distribution | null;
  all: GroupReport;
  modes: Record<string, GroupReport>;
  tenants: Record<string, GroupReport>;
}

export interface ReportedSettings {
  url: string;
  model: string | null;
  modes: Record<string, number> | null;
  tenants: Record<string, number>;
  load: Record<string, string | number>;
  requests: number | null;
  duration_ms: number | null;
  warmup: { requests?: number; duration_ms?: number } | null;
  input: Record<string, string | number>;
  max_output_tokens: number | null;
  service_tier: string | null;
  /** The names alone. */
  headers: string[];
  timeout_ms: number;
  retries: number;
  poll_interval_ms: number;
  seed: number;
}

export interface ReportFacts {
  settings: BenchSettings;
  /** As it may be shown. */
  url: string;
  tenants: readonly Weighted<Tenant>[];
  startedAt: Date;
  result: RunResult;
}

/** Makes the report of a run. Texts of the endpoint are kept free of the keys that were sent to it. */
export function reportOf({ settings, url, tenants, startedAt, result }: ReportFacts): Report {
  const { tally, elapsedMs, endedBy, busyShare } = result;
  const secrets = [
    ...tenants.flatMap(({ value }) => value.key ?? []),
    ...Object.values(settings.headers),
  ].filter(({ length }) => length >= 8);
  const group = (each: Tally) => groupReport(each, elapsedMs, secrets);
  return {
    version: 1,
    started_at: startedAt.toISOString(),
    settings: reportedSettings({ settings, url, tenants }),
    elapsed_seconds: rounded(elapsedMs / 1000, 3),
    ended_by: endedBy,
    tool_busy_share: rounded(busyShare, 3),
    sent_late_ms: distributionOf(tally.lateness),
    all: group(tally.all),
    modes: named(modes, tally.modes, group),
    tenants: named(
      tenants.map(({ value }) => value.name),
      tally.tenants,
      group,
    ),
  };
}

/** The groups in the order of their names here, whichever came first. */
function named(
  names: readonly string[],
  tallies: RunTally['modes'],
  group: (tally: Tally) => GroupReport,
): Record<string, GroupReport> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const tally = tallies.get(name);
      return tally ? [[name, group(tally)]] : [];
    }),
  );
}

function groupReport(tally: Tally, elapsedMs: number, secrets: readonly string[]): GroupReport {
  const { answered, failed, unfinished, notSent, retries, polls, withUsage, deltas } = tally;
  const perSecond = (count: number) => (elapsedMs > 0 ? rounded((count * 1000) / elapsedMs, 3) : 0);
  return {
    requests: answered + failed + unfinished + notSent,
    answered,
    errors: failed,
    unfinished,
    not_sent: notSent,
    retries,
    polls,
    requests_per_second: perSecond(answered),
    input_tokens: withUsage > 0 ? tally.inputTokens : null,
    output_tokens: withUsage > 0 ? tally.outputTokens : null,
    output_tokens_per_second: withUsage > 0 ? perSecond(tally.outputTokens) : null,
    output_events: deltas,
    output_events_per_second: perSecond(deltas),
    time_to_first_token_ms: distributionOf(tally.timeToFirstToken),
    time_between_tokens_ms: distributionOf(tally.timeBetweenTokens),
    time_to_acceptance_ms: distributionOf(tally.timeToAcceptance),
    latency_ms: distributionOf(tally.latency),
    errors_by_cause: tally.failures.map((failure) => ({
      ...failure,
      message: secrets.reduce((text, secret) => text.replaceAll(secret, '***'), failure.message),
    })),
    rate_limited: { count: tally.limitedCount, retry_after_ms: distributionOf(tally.retryAfter) },
  };
}

function reportedSettings({
  settings,
  url,
  tenants,
}: Pick<ReportFacts, 'settings' | 'url' | 'tenants'>): ReportedSettings {
  const { mix, input, body, load, extent, warmup } = settings;
  return {
    url,
    model: body.model ?? null,
    modes: mix ? Object.fromEntries(mix.map(({ value, weight }) => [value, weight])) : null,
    tenants: Object.fromEntries(tenants.map(({ value, weight }) => [value.name, weight])),
    load:
      load.kind === 'closed'
        ? { kind: 'closed', concurrency: load.concurrency }
        : { kind: 'open', rate: load.rate, arrivals: load.arrivals, most_outstanding: load.mostOutstanding },
    requests: extent.requests ?? null,
    duration_ms: extent.durationMs ?? null,
    warmup: warmup ? reportedExtent(warmup) : null,
    input:
      input.kind === 'invented'
        ? { kind: 'invented', tokens: input.tokens }
        : input.kind === 'file'
          ? { kind: 'file', path: input.path }
          : { kind: 'prompt', characters: input.text.length },
    max_output_tokens: body.maxOutputTokens ?? null,
    service_tier: body.serviceTier ?? null,
    headers: Object.keys(settings.headers),
    timeout_ms: settings.timeoutMs,
    retries: settings.retries,
    poll_interval_ms: settings.pollIntervalMs,
    seed: settings.seed,
  };
}

function reportedExtent({ requests, durationMs }: Extent): { requests?: number; duration_ms?: number } {
  return {
    ...(requests !== undefined && { requests }),
    ...(durationMs !== undefined && { duration_ms: durationMs }),
  };
}

function distributionOf(histogram: Histogram): Distribution | null {
  const found = histogram.distribution();
  if (!found) return null;
  const { count, ...durations } = found;
  const ms = (value: number) => rounded(value, 3);
  const { mean, min, p50, p90, p99, max } = durations;
  return { count, mean: ms(mean), min: ms(min), p50: ms(p50), p90: ms(p90), p99: ms(p99), max: ms(max) };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
