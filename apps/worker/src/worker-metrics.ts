import { type CountedMetric, countFacts, readGauges, type ReadMetric, type Telemetry } from '@sluice/runtime';
import type { Registry } from 'prom-client';
import { countInference } from './inference-metrics.ts';
import { countPressure } from './pressure/pressure-metrics.ts';
import type { UpstreamStatus } from './upstream-status.ts';

/** The state of a worker at the moment of a scrape. */
export interface WorkerState {
  /** Attempts that run now. */
  running: () => number;
  upstreams: () => UpstreamStatus[];
}

/** Counts what happens in a worker. Labels come from the operator's own file, so they are few. */
export function countWorker(telemetry: Telemetry, registry: Registry, state: WorkerState): void {
  countInference(telemetry, registry);
  countFacts(telemetry, registry, attemptMetrics);
  countFacts(telemetry, registry, upstreamMetrics(state.upstreams()));
  readGauges(registry, stateMetrics(state));
  countPressure(telemetry, registry, state.upstreams);
}

const attemptMetrics: readonly CountedMetric[] = [
  {
    name: 'sluice_attempts_total',
    help: 'Runs of a response against an upstream.',
    labels: ['model'],
    on: 'attempt.started',
    count: ({ model }, add) => add([model]),
  },
  {
    name: 'sluice_attempt_retries_total',
    help: 'Attempts that failed before anything was visible and led to another one.',
    labels: ['model', 'code'],
    on: 'attempt.retried',
    count: ({ model, code }, add) => add([model, code]),
  },
  {
    name: 'sluice_webhook_tries_total',
    help: 'Tries of webhooks, by what came of them: delivered, failed and tried again, or given up.',
    labels: ['outcome'],
    on: 'webhook.tried',
    count: ({ outcome }, add) => add([outcome]),
  },
  {
    name: 'sluice_queue_wait_seconds',
    help: 'From the accept of a response to its first call of an upstream, by how its caller gets it: whole, stream or background.',
    labels: ['model', 'mode'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
    on: 'attempt.started',
    count: ({ model, attempt, mode, sinceAcceptMs }, add) => {
      if (attempt === 1) add([model, mode], sinceAcceptMs / 1000);
    },
  },
  {
    name: 'sluice_tokens_total',
    help: 'Tokens the upstreams reported.',
    labels: ['model', 'direction'],
    on: 'response.ended',
    count: ({ model, inputTokens, outputTokens }, add) => {
      if (inputTokens !== undefined) add([model, 'input'], inputTokens);
      if (outputTokens !== undefined) add([model, 'output'], outputTokens);
    },
  },
  {
    name: 'sluice_upstream_first_token_seconds',
    help: 'From the call of the upstream to its first output.',
    labels: ['model'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    on: 'attempt.first_token',
    count: ({ model, sinceCallMs }, add) => add([model], sinceCallMs / 1000),
  },
  {
    name: 'sluice_attempts_postponed_total',
    help: 'Attempts that were given back because no route took calls (parked, busy, saturated, or all were open), there was no room for the input (memory), or this worker did not know the model (model).',
    labels: ['model', 'because'],
    on: 'attempt.postponed',
    count: ({ model, because }, add) => add([model, because]),
  },
];

function upstreamMetrics(upstreams: readonly UpstreamStatus[]): readonly CountedMetric[] {
  return [
    {
      name: 'sluice_upstream_breaker_openings_total',
      help: 'Times the circuit breaker of an upstream opened, failed probes included.',
      labels: ['provider', 'server'],
      known: upstreams.map(({ provider, server }) => [provider, server]),
      on: 'upstream.breaker',
      count: ({ provider, server, state }, add) => {
        if (state === 'open') add([provider, server]);
      },
    },
    {
      name: 'sluice_upstream_parkings_total',
      help: 'Times a model of an upstream was parked because there were too many calls.',
      labels: ['provider', 'upstream_model', 'server'],
      known: upstreams.flatMap(({ provider, server, routes }) =>
        routes.map(({ model }) => [provider, model, server]),
      ),
      on: 'upstream.parked',
      count: ({ provider, server, upstreamModel }, add) => add([provider, upstreamModel, server]),
    },
  ];
}

const breakerValues = { closed: 0, half_open: 1, open: 2 };

function stateMetrics({ running, upstreams }: WorkerState): readonly ReadMetric[] {
  return [
    {
      name: 'sluice_attempts_running',
      help: 'Attempts that run in this process now.',
      read: (set) => set([], running()),
    },
    {
      name: 'sluice_upstream_breaker_state',
      help: 'Circuit breaker of an upstream in this process: 0 closed, 1 half open, 2 open.',
      labels: ['provider', 'server'],
      read: (set) => {
        for (const { provider, server, breaker } of upstreams()) {
          set([provider, server], breakerValues[breaker]);
        }
      },
    },
    {
      name: 'sluice_upstream_parked_seconds',
      help: 'How much longer a model of an upstream is parked in this process; 0 when it takes calls.',
      labels: ['provider', 'upstream_model', 'server'],
      read: (set) => {
        for (const { provider, server, routes } of upstreams()) {
          for (const { model, parkedMs } of routes) set([provider, model, server], parkedMs / 1000);
        }
      },
    },
  ];
}
