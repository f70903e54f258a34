import { Telemetry } from '@sluice/runtime';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { UpstreamStatus } from './upstream-status.ts';
import { countWorker } from './worker-metrics.ts';

const status = (server?: string): UpstreamStatus => ({
  provider: 'p',
  ...(server !== undefined && { server }),
  breaker: 'closed',
  opensInMs: 0,
  routes: [
    { model: 'm', breaker: 'closed', parkedMs: 0, inFlight: 2, limit: 8, callsPerSecond: null, waiting: 0 },
  ],
});

async function metricsOf(...upstreams: UpstreamStatus[]): Promise<string> {
  const registry = new Registry();
  const telemetry = new Telemetry((error) => {
    throw error;
  });
  countWorker(telemetry, registry, { running: () => 0, upstreams: () => upstreams });
  const { server } = upstreams[0] ?? {};
  const about = { provider: 'p', ...(server !== undefined && { server }) };
  telemetry.emit('upstream.breaker', { ...about, state: 'open', openMs: 1 });
  telemetry.emit('upstream.refused', { ...about, upstreamModel: 'm' });
  return registry.metrics();
}

it('labels what is known of an upstream by its server, where its provider has several', async () => {
  const text = await metricsOf(status('http://a'), status('http://b'));
  expect(text).toContain('sluice_upstream_breaker_openings_total{provider="p",server="http://a"} 1');
  expect(text).toContain('sluice_upstream_breaker_openings_total{provider="p",server="http://b"} 0');
  expect(text).toContain(
    'sluice_upstream_calls_in_flight{provider="p",upstream_model="m",server="http://b"} 2',
  );
  expect(text).toContain(
    'sluice_upstream_refusals_total{provider="p",upstream_model="m",server="http://a"} 1',
  );
});

it('has no label of a server where a provider has one', async () => {
  const text = await metricsOf(status());
  expect(text).toContain('sluice_upstream_breaker_state{provider="p"} 0');
  expect(text).toContain('sluice_upstream_parked_seconds{provider="p",upstream_model="m"} 0');
  expect(text).not.toContain('server=');
});
