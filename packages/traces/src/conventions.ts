/**
 * NAME TABLE: every name in a span. Names for calls of a model are from the OpenTelemetry semantic conventions for
 * generative AI, v0.1.0 (in development: they may still change, and then they change here), the others from the semantic
 * conventions 1.45.0. Names of this service alone begin with `sluice.`.
 *
 * No name stands for content: the conventions have some for prompts and answers, and they are left out on purpose.
 */
export const names = {
  span: {
    /** A span of the kind `gen_ai.client.inference`. */
    call: (model: string) => `${inference} ${model}`,
    request: (method: string, route: string) => `${method} ${route}`,
    turn: 'WEBSOCKET response.create',
    wait: 'sluice.queue.wait',
    attempt: 'sluice.attempt',
  },
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  errorType: 'error.type',
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  protocol: 'network.protocol.name',
  sdkLanguage: 'telemetry.sdk.language',
  sdkName: 'telemetry.sdk.name',
  sdkVersion: 'telemetry.sdk.version',
  serviceName: 'service.name',
  serviceVersion: 'service.version',
  serviceInstance: 'service.instance.id',
  responseId: 'sluice.response.id',
  tenant: 'sluice.tenant',
  tier: 'sluice.tier',
  mode: 'sluice.mode',
  model: 'sluice.model',
  attempt: 'sluice.attempt.number',
  outcome: 'sluice.attempt.outcome',
  role: 'sluice.role',
  worker: 'sluice.worker.id',
} as const;

/** Metrics of calls of a model, by the same conventions. In Prometheus their dots are underscores. */
export const metricNames = {
  duration: 'gen_ai.client.inference.duration',
  timeToFirstChunk: 'gen_ai.client.inference.time_to_first_chunk',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
} as const;

/** The buckets that the conventions give for durations, in seconds. */
export const inferenceBuckets = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
] as const;

/** The operation of all calls of a model, by the conventions. */
export const inference = 'chat';
