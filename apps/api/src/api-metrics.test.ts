import { Telemetry } from '@sluice/runtime';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { countApi } from './api-metrics.ts';

const telemetry = new Telemetry(() => undefined);
const counts = { waiting: 0, prioritized: 3, active: 1, delayed: 0, completed: 5, failed: 0, paused: 0 };

const sockets = () => ({ size: 0, contextBytes: 0 });

describe('the depth of the queues', () => {
  it('is told by queue and state', async () => {
    const registry = new Registry();
    countApi(telemetry, registry, {
      queue: { names: ['m', 'team%2Fm'], counts: () => Promise.resolve(counts) },
      openRequests: () => 2,
      sockets,
    });
    const text = await registry.metrics();
    expect(text).toContain('sluice_queue_jobs{queue="m",state="prioritized"} 3');
    expect(text).toContain('sluice_queue_jobs{queue="team/m",state="active"} 1');
  });

  it('is left out while the store does not answer, and everything else is there', async () => {
    const registry = new Registry();
    let isAway = false;
    const ask = () => (isAway ? Promise.reject(new Error('Command timed out')) : Promise.resolve(counts));
    countApi(telemetry, registry, { queue: { names: ['m'], counts: ask }, openRequests: () => 2, sockets });
    expect(await registry.metrics()).toContain('sluice_queue_jobs{');
    isAway = true;
    const text = await registry.metrics();
    expect(text).not.toContain('sluice_queue_jobs{');
    expect(text).toContain('sluice_open_requests 2');
  });
});
