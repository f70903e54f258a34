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

/** Blocks the event loop for 150 ms. */
function stall(): void {
  const end = performance.now() + 150;
  while (performance.now() < end);
}

/**
 * Stalls until that has been noticed, by every other look. A stall that begins before the first tick of a histogram since it was
 * reset is not, because there is nothing to measure it from.
 */
function stallUntil(isNoticed: () => boolean | Promise<boolean>): Promise<true> {
  let looks = 0;
  return eventually(async () => {
    looks += 1;
    if (looks % 2 === 1) return isNoticed();
    stall();
    return false;
  });
}

describe('metrics', () => {
  it('labels every series of the process', async () => {
    const text = await create().registry.metrics();
    expect(text).toMatch(/process_resident_memory_bytes\{role="worker"\} \d+/);
    expect(text).toContain('sluice_event_loop_delay_seconds{quantile="0.99",role="worker"}');
  });

  it('shows a stall once, in the scrape after it', async () => {
    const created = create();
    await stallUntil(async () => (await maxDelaySeconds(created)) > 0.1);
    // The machine may stall the process once more, and not for ever.
    await eventually(async () => (await maxDelaySeconds(created)) < 0.1);
  }, 60_000);

  it('adds up stalls, so that none is lost with the scrape in which it was told', async () => {
    const logger = createLogger({ name: 'test', level: 'silent' });
    const watch = watchEventLoop({ logger, warnAboveMs: 100, periodMs: 100 });
    try {
      await stallUntil(() => watch.stalledMs > 100);
      const once = watch.stalledMs;
      watch.takeDelay();
      expect(watch.stalledMs).toBeGreaterThanOrEqual(once);
      await stallUntil(() => watch.stalledMs > once + 100);
    } finally {
      watch.stop();
    }
  }, 60_000);
});
