import { memoize, type Telemetry } from '@sluice/runtime';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Counts what happens in a worker. Labels come from the operator's own file, so they are few. */
export function countWorker(telemetry: Telemetry, registry: Registry, running: () => number): void {
  const registers = [registry];
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
  const ended = new Counter({
    name: 'sluice_responses_total',
    help: 'Responses that ended here, by status.',
    labelNames: ['model', 'status'],
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
  // Finding a series by its labels hashes them: once for each, not for each response.
  const ofModel = memoize((model: string) => ({
    attempts: attempts.labels(model),
    firstToken: firstToken.labels(model),
    input: tokens.labels(model, 'input'),
    output: tokens.labels(model, 'output'),
  }));
  const endedAs = memoize((model: string, status: string) => ended.labels(model, status));
  telemetry.on('attempt.started', ({ model }) => ofModel(model).attempts.inc());
  telemetry.on('attempt.first_token', ({ model, sinceCallMs }) =>
    ofModel(model).firstToken.observe(sinceCallMs / 1000),
  );
  telemetry.on('attempt.retried', ({ model, code }) => retries.inc({ model, code }));
  telemetry.on('response.ended', ({ model, status, inputTokens, outputTokens }) => {
    endedAs(model, status).inc();
    if (inputTokens !== undefined) ofModel(model).input.inc(inputTokens);
    if (outputTokens !== undefined) ofModel(model).output.inc(outputTokens);
  });
}
