import { memoize, type Telemetry } from '@sluice/runtime';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { countInference } from './inference-metrics.ts';
import { countPressure } from './pressure/pressure-metrics.ts';
import type { UpstreamStatus } from './upstream-status.ts';

/** What is asked for when the metrics are read. */
export interface WorkerState {
  /** Attempts that run now. */
  running: () => number;
  upstreams: () => UpstreamStatus[];
}

const breakerValues = { closed: 0, half_open: 1, open: 2 };

/** Counts what happens in a worker. Labels come from the operator's own file, so they are few. */
export function countWorker(
  telemetry: Telemetry,
  registry: Registry,
  { running, upstreams }: WorkerState,
): void {
  const registers = [registry];
  countInference(telemetry, registry);
  const attempts = new Counter({
    name: 'sluice_attempts_total',
    help: 'Runs of a response against an upstream.',
    labelNames: ['model'],
    registers,
  });
  const retries = new Counter({
    name: 'sluice_attempt_retries_total',
    help: 'Attempts that failed before anything was visible and led to another one.',
    labelNames: ['model', 'code'],
    registers,
  });
  const waited = new Histogram({
    name: 'sluice_queue_wait_seconds',
    help: 'From the accept of a response to its first call of an upstream, by how its caller gets it: whole, stream or background.',
    labelNames: ['model', 'mode'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
    registers,
  });
  const tokens = new Counter({
    name: 'sluice_tokens_total',
    help: 'Tokens the upstreams reported.',
    labelNames: ['model', 'direction'],
    registers,
  });
  const firstToken = new Histogram({
    name: 'sluice_upstream_first_token_seconds',
    help: 'From the call of the upstream to its first output.',
    labelNames: ['model'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  new Gauge({
    name: 'sluice_attempts_running',
    help: 'Attempts that run in this process now.',
    registers,
    collect() {
      this.set(running());
    },
  });
  const postponed = new Counter({
    name: 'sluice_attempts_postponed_total',
    help: 'Attempts that were given back because no route took calls (parked, busy, saturated, or all were open), or there was no room for the input (memory).',
    labelNames: ['model', 'because'],
    registers,
  });
  const openings = new Counter({
    name: 'sluice_upstream_breaker_openings_total',
    help: 'Times the circuit breaker of an upstream opened, failed probes included.',
    labelNames: ['provider'],
    registers,
  });
  const parkings = new Counter({
    name: 'sluice_upstream_parkings_total',
    help: 'Times a model of an upstream was parked because there were too many calls.',
    labelNames: ['provider', 'upstream_model'],
    registers,
  });
  new Gauge({
    name: 'sluice_upstream_breaker_state',
    help: 'Circuit breaker of an upstream in this process: 0 closed, 1 half open, 2 open.',
    labelNames: ['provider'],
    registers,
    collect() {
      for (const { provider, breaker } of upstreams()) this.set({ provider }, breakerValues[breaker]);
    },
  });
  new Gauge({
    name: 'sluice_upstream_parked_seconds',
    help: 'How much longer a model of an upstream is parked in this process; 0 when it takes calls.',
    labelNames: ['provider', 'upstream_model'],
    registers,
    collect() {
      for (const { provider, routes } of upstreams()) {
        for (const { model, parkedMs } of routes) {
          this.set({ provider, upstream_model: model }, parkedMs / 1000);
        }
      }
    },
  });
  // From 0 on: the first time would otherwise not be seen as an increase.
  for (const { provider, routes } of upstreams()) {
    openings.inc({ provider }, 0);
    for (const { model } of routes) parkings.inc({ provider, upstream_model: model }, 0);
  }
  countPressure(telemetry, registry, upstreams);
  // Finding a series by its labels hashes them: once for each, not for each response.
  const ofModel = memoize((model: string) => ({
    attempts: attempts.labels(model),
    firstToken: firstToken.labels(model),
    input: tokens.labels(model, 'input'),
    output: tokens.labels(model, 'output'),
  }));
  const waitedAs = memoize((model: string, mode: string) => waited.labels(model, mode));
  telemetry.on('attempt.started', ({ model, attempt, mode, sinceAcceptMs }) => {
    ofModel(model).attempts.inc();
    if (attempt === 1) waitedAs(model, mode).observe(sinceAcceptMs / 1000);
  });
  telemetry.on('attempt.first_token', ({ model, sinceCallMs }) =>
    ofModel(model).firstToken.observe(sinceCallMs / 1000),
  );
  telemetry.on('attempt.retried', ({ model, code }) => retries.inc({ model, code }));
  telemetry.on('attempt.postponed', ({ model, because }) => postponed.inc({ model, because }));
  telemetry.on('upstream.breaker', ({ provider, state }) => {
    if (state === 'open') openings.inc({ provider });
  });
  telemetry.on('upstream.parked', ({ provider, upstreamModel }) =>
    parkings.inc({ provider, upstream_model: upstreamModel }),
  );
  telemetry.on('response.ended', ({ model, inputTokens, outputTokens }) => {
    if (inputTokens !== undefined) ofModel(model).input.inc(inputTokens);
    if (outputTokens !== undefined) ofModel(model).output.inc(outputTokens);
  });
}
