import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { measureSlots } from './slot-metrics.ts';

describe('the slots of a worker', () => {
  it('are told by queue, with what was taken, and are none while a queue is held', async () => {
    const taken = new Map([['m', 5]]);
    const registry = new Registry();
    measureSlots(registry, {
      names: () => ['m', 'team%2Fm'],
      consumer: {
        taken: (name) => taken.get(name) ?? 0,
        inHand: (name) => (name === 'm' ? 3 : 0),
        isTaking: (name) => name === 'm',
      },
      slots: 8,
    });
    await registry.metrics();
    taken.set('m', 6);
    const text = await registry.metrics();
    expect(text).toContain('sluice_worker_slots{queue="m"} 8');
    expect(text).toContain('sluice_worker_slots{queue="team/m"} 0');
    expect(text).toContain('sluice_worker_slots_busy{queue="m"} 3');
    expect(text).toContain('sluice_worker_jobs_taken_total{queue="m"} 6');
    expect(text).toContain('sluice_worker_jobs_taken_total{queue="team/m"} 0');
  });
});
