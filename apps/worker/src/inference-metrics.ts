import type { Telemetry } from '@sluice/runtime';
import { inference, inferenceBuckets, metricNames, names } from '@sluice/traces';
import { Counter, Histogram, type Registry } from 'prom-client';

/** A name of OpenTelemetry as Prometheus writes it. */
const inPrometheus = (name: string) => name.replaceAll('.', '_');

const operation = inPrometheus(names.operation);
const provider = inPrometheus(names.provider);
const requestModel = inPrometheus(names.requestModel);
const errorType = inPrometheus(names.errorType);

interface Call {
  provider?: string | undefined;
  upstreamModel?: string | undefined;
}

/**
 * Counts calls of models by the names that the conventions of OpenTelemetry have for them. Labels come from the operator's own
 * file, and from our own list of errors. Calls that were aborted are left out: they say nothing about the model.
 */
export function countInference(telemetry: Telemetry, registry: Registry): void {
  const registers = [registry];
  const buckets = [...inferenceBuckets];
  const duration = new Histogram({
    name: `${inPrometheus(metricNames.duration)}_seconds`,
    help: 'From the call of a model to the end of its answer, or to its failure.',
    labelNames: [operation, provider, requestModel, errorType],
    buckets,
    registers,
  });
  const firstChunk = new Histogram({
    name: `${inPrometheus(metricNames.timeToFirstChunk)}_seconds`,
    help: 'From the call of a model to its first output.',
    labelNames: [operation, provider, requestModel],
    buckets,
    registers,
  });
  const tokens = (name: string, help: string) =>
    new Counter({
      name: `${inPrometheus(name)}_total`,
      help,
      labelNames: [operation, provider, requestModel],
      registers,
    });
  const input = tokens(metricNames.inputTokens, 'Tokens of input that the upstreams reported.');
  const output = tokens(metricNames.outputTokens, 'Tokens of output that the upstreams reported.');
  const labelsOf = (call: Call) => ({
    [operation]: inference,
    [provider]: call.provider ?? '',
    [requestModel]: call.upstreamModel ?? '',
  });
  telemetry.on('attempt.first_token', (fact) => firstChunk.observe(labelsOf(fact), fact.sinceCallMs / 1000));
  telemetry.on('attempt.answered', (fact) => {
    duration.observe({ ...labelsOf(fact), [errorType]: '' }, fact.sinceCallMs / 1000);
    if (!fact.usage) return;
    input.inc(labelsOf(fact), fact.usage.inputTokens);
    output.inc(labelsOf(fact), fact.usage.outputTokens);
  });
  telemetry.on('attempt.failed', (fact) => {
    if (fact.sinceCallMs === undefined) return;
    duration.observe({ ...labelsOf(fact), [errorType]: fact.code }, fact.sinceCallMs / 1000);
  });
}
