import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AttemptObserver } from './execute-response.ts';

/** What a worker counts. Labels come from the operator's own file, so they are few. */
export function workerMetrics(registry: Registry, running: () => number): AttemptObserver {
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
  return {
    started: (model) => attempts.inc({ model }),
    firstToken: (model, afterMs) => firstToken.observe({ model }, afterMs / 1000),
    retried: (model, code) => retries.inc({ model, code }),
    ended: (model, status, { usage }) => {
      ended.inc({ model, status });
      if (!usage) return;
      tokens.inc({ model, direction: 'input' }, usage.input_tokens);
      tokens.inc({ model, direction: 'output' }, usage.output_tokens);
    },
  };
}
