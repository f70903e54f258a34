import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { watchEventLoop } from './event-loop.ts';
import type { Logger } from './logger.ts';
import { sampledCounter } from './sampled-counter.ts';
import { serviceVersion } from './service-version.ts';

export interface MetricsOptions {
  logger: Logger;
  /** Labels on every series of the process, such as `{ role: 'worker' }`. */
  labels?: Record<string, string>;
}

/** The registry of the process, to which an app adds its own metrics. `stop()` ends the measuring; twice is fine. */
export interface Metrics {
  registry: Registry;
  stop(): void;
}

/**
 * Creates a registry with the default metrics of a process (memory, CPU, handles), its version, and
 * `sluice_event_loop_delay_seconds`. Each scrape resets that delay, so of two scrapers each sees only a part. Call it
 * once per process: the default metrics install observers that live as long as the process, without keeping it alive.
 */
export function createMetrics({ logger, labels = {} }: MetricsOptions): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  const eventLoop = watchEventLoop({ logger });
  const delay = new Gauge({
    name: 'sluice_event_loop_delay_seconds',
    help: 'How late timers fired since the last scrape; 0 is on time.',
    labelNames: ['quantile'],
    registers: [registry],
    collect() {
      const { p50Ms, p99Ms, maxMs } = eventLoop.takeDelay();
      delay.set({ quantile: '0.5' }, p50Ms / 1000);
      delay.set({ quantile: '0.99' }, p99Ms / 1000);
      delay.set({ quantile: '1' }, maxMs / 1000);
    },
  });
  sampledCounter({
    registry,
    name: 'sluice_event_loop_stalled_seconds_total',
    help: 'How long the event loop has stood still: of every ten seconds the longest stall of more than 200 ms.',
    counts: () => [{ count: eventLoop.stalledMs / 1000 }],
  });
  new Gauge({
    name: 'sluice_build_info',
    help: 'Always 1; the label has the version of this process.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: serviceVersion }, 1);
  return { registry, stop: () => eventLoop.stop() };
}
