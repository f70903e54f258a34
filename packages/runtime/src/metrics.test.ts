import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@sluice/testing';
import { watchEventLoop } from './event-loop.ts';
import { createLogger } from './logger.ts';
import { createMetrics, type Metrics } from './metrics.ts';

let metrics: Metrics | undefined;

afterEach(() => {
  metrics?.stop();
  metrics?.stop();
});

function create(): Metrics {
  metrics = createMetrics({
    logger: createLogger({ name: 'test', level: 'silent' }),
    labels: { role: 'worker' },
  });
  return metrics;
}

async function maxDelaySeconds({ registry }: Metrics): Promise<number> {
  const line = /sluice_event_loop_delay_seconds\{[^}]*quantile="1"[^}]*\} (\S+)/.exec(
    await registry.metrics(),
  );
  return Number(line?.[1]);
}

/** Blocks the event loop, and lets its timers notice. */
async function stall(forMs: number): Promise<void> {
  const turn = () => new Promise((resolve) => setTimeout(resolve, 25));
  await turn();
  const end = performance.now() + forMs;
  while (performance.now() < end);
  await turn();
}

describe('metrics', () => {
  it('labels every series of the process', async () => {
    const text = await create().registry.metrics();
    expect(text).toMatch(/process_resident_memory_bytes\{role="worker"\} \d+/);
    expect(text).toContain('sluice_event_loop_delay_seconds{quantile="0.99",role="worker"}');
  });

  it('shows a stall once, in the scrape after it', async () => {
    const created = create();
    await stall(150);
    expect(await maxDelaySeconds(created)).toBeGreaterThan(0.1);
    expect(await maxDelaySeconds(created)).toBeLessThan(0.1);
  });

  it('adds up stalls, so that none is lost with the scrape in which it was told', async () => {
    const logger = createLogger({ name: 'test', level: 'silent' });
    const watch = watchEventLoop({ logger, warnAboveMs: 100, periodMs: 100 });
    // A stall that begins with a period is told of none: the histogram has no tick yet to measure it from.
    const stalledSince = (ms: number) =>
      eventually(async () => {
        await stall(150);
        return watch.stalledMs > ms + 100 && watch.stalledMs;
      });
    try {
      const once = await stalledSince(0);
      watch.takeDelay();
      expect(watch.stalledMs).toBeGreaterThanOrEqual(once);
      await stalledSince(once);
    } finally {
      watch.stop();
    }
  });
});
