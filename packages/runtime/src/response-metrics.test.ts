import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { countEnds } from './response-metrics.ts';
import { Telemetry } from './telemetry.ts';

const end = {
  ...{ responseId: 'r', tenant: 't', model: 'm', attempt: 1, because: undefined },
  ...{ inputTokens: undefined, outputTokens: undefined },
};

describe('the ends of responses', () => {
  it('are counted by status, and failed ones by code, from 0 on', async () => {
    const telemetry = new Telemetry((error) => {
      throw error;
    });
    const registry = new Registry();
    countEnds(telemetry, registry, { models: () => ['m'], codes: ['timeout', 'upstream_error'] });
    expect(await registry.metrics()).toContain(
      'sluice_responses_failed_total{model="m",code="upstream_error"} 0',
    );
    telemetry.emit('response.ended', { ...end, status: 'completed', code: undefined });
    telemetry.emit('response.ended', { ...end, status: 'failed', code: 'upstream_error' });
    const text = await registry.metrics();
    expect(text).toContain('sluice_responses_total{model="m",status="completed"} 1');
    expect(text).toContain('sluice_responses_total{model="m",status="failed"} 1');
    expect(text).toContain('sluice_responses_total{model="m",status="cancelled"} 0');
    expect(text).toContain('sluice_responses_failed_total{model="m",code="upstream_error"} 1');
    expect(text).toContain('sluice_responses_failed_total{model="m",code="timeout"} 0');
  });

  it('are counted from 0 on for a model that comes later, too', async () => {
    const registry = new Registry();
    const models = ['m'];
    countEnds(new Telemetry(() => undefined), registry, { models: () => models, codes: ['timeout'] });
    expect(await registry.metrics()).not.toContain('model="n"');
    models.push('n');
    expect(await registry.metrics()).toContain('sluice_responses_total{model="n",status="completed"} 0');
  });
});
