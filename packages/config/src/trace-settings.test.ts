import { describe, expect, it } from 'vitest';
import { readTraceSettings, traceVariables } from './trace-settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('readTraceSettings', () => {
  it.each([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
    // Nobody is told what is wrong with what is off.
    { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' },
    { OTEL_TRACES_SAMPLER: 'nonsense' },
  ])('leaves traces off with %j', (env) => {
    expect(readTraceSettings(env)).toEqual({ traces: undefined, problems: [] });
  });

  it('has the defaults of OpenTelemetry', () => {
    expect(readTraceSettings(endpoint)).toEqual({
      problems: [],
      traces: {
        endpoint: 'http://collector:4318/v1/traces',
        headers: {},
        protocol: 'http/protobuf',
        compression: 'none',
        timeoutMs: 10_000,
        serviceName: undefined,
        resource: {},
        sampler: { name: 'parentbased_always_on', ratio: 1 },
        propagates: true,
        batch: { most: 2_048, size: 512, delayMs: 5_000 },
      },
    });
  });

  it('reads every variable, and prefers those of spans alone', () => {
    const { traces, problems } = readTraceSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://ignored:4318',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/spans',
      OTEL_EXPORTER_OTLP_HEADERS: 'ignored=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20secret, x-tenant = a=b ',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_SERVICE_NAME: 'answers',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production,region=eu',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_PROPAGATORS: 'none',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
      OTEL_BSP_SCHEDULE_DELAY: '0',
    });
    expect(problems).toEqual([]);
    expect(traces).toEqual({
      endpoint: 'https://collector/spans',
      headers: { authorization: 'Bearer secret', 'x-tenant': 'a=b' },
      protocol: 'http/json',
      compression: 'gzip',
      timeoutMs: 500,
      serviceName: 'answers',
      resource: { 'deployment.environment.name': 'production', region: 'eu' },
      sampler: { name: 'parentbased_traceidratio', ratio: 0.25 },
      propagates: false,
      batch: { most: 100, size: 100, delayMs: 0 },
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:secret@collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name=%E0%A4%A'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name=%0d%0asecret'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 'Infinity'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '1.5'],
    ['OTEL_BSP_SCHEDULE_DELAY', '-1'],
  ])('refuses %s=%s by its name, and repeats no value', (name, value) => {
    const { problems } = readTraceSettings({ ...endpoint, [name]: value });
    expect(problems.map(({ path }) => path)).toEqual([name]);
    expect(problems[0]?.message).not.toContain('secret');
  });

  it('names each variable once in the reference', () => {
    const all = traceVariables.map(({ name }) => name);
    expect(new Set(all).size).toBe(all.length);
  });
});
