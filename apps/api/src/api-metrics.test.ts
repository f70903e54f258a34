import { Telemetry } from '@sluice/runtime';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { countApi } from './api-metrics.ts';

function counted(): { telemetry: Telemetry; registry: Registry } {
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  const registry = new Registry();
  countApi(telemetry, registry, {
    models: () => ['m'],
    openRequests: () => 2,
    sockets: () => ({ size: 0, contextBytes: 0 }),
  });
  return { telemetry, registry };
}

describe('the metrics of an api', () => {
  it('count what was accepted by model and mode', async () => {
    const { telemetry, registry } = counted();
    telemetry.emit('response.accepted', {
      ...{ responseId: 'r', requestId: 'q', tenant: 't', model: 'm', mode: 'stream', tier: 'default' },
      ...{ acceptedAt: 0, isInLine: false, metadata: undefined },
    });
    const text = await registry.metrics();
    expect(text).toContain('sluice_responses_accepted_total{model="m",mode="stream"} 1');
    expect(text).toContain('sluice_responses_accepted_total{model="m",mode="background"} 0');
    expect(text).toContain('sluice_open_requests 2');
  });

  it('count refusals by code, and have no series for a model that only a client has named', async () => {
    const { telemetry, registry } = counted();
    const refuse = (model: string) =>
      telemetry.emit('response.refused', { tenant: 't', model, code: 'server_is_overloaded' });
    for (const model of ['m', 'made up', 'made up too', '']) refuse(model);
    const text = await registry.metrics();
    expect(text).toContain('sluice_responses_refused_total{model="m",code="server_is_overloaded"} 1');
    expect(text).toContain('sluice_responses_refused_total{model="",code="server_is_overloaded"} 3');
    expect(text).toContain('sluice_responses_refused_total{model="m",code="rate_limit_exceeded"} 0');
    expect(text).not.toContain('made up');
  });

  it('count the ends of the index thread', async () => {
    const { telemetry, registry } = counted();
    telemetry.emit('index.ended', { error: new Error('out of memory') });
    expect(await registry.metrics()).toContain('sluice_index_failures_total 1');
  });
});
