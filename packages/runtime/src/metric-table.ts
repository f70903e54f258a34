import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { memoize } from './memoize.ts';
import type { Telemetry, TelemetryEvent, TelemetryEvents } from './telemetry.ts';

interface Metric {
  name: string;
  help: string;
  labels?: readonly string[];
}

/** The values of the labels of a series. A label without a value is left out. */
type LabelValues = readonly (string | undefined)[];

/** Adds to the series with these values of the labels. A histogram observes the amount; a counter grows by it, 1 by default. */
type Add = (labels: LabelValues, amount?: number) => void;

type KnownSeries = readonly LabelValues[] | (() => readonly LabelValues[]);

interface FactRow<Event extends TelemetryEvent> extends Metric {
  /** Upper bounds of the buckets of a histogram. A row without them is a counter. */
  buckets?: readonly number[];
  /**
   * Series that a counter has at 0 before their first fact, which would otherwise not be seen as an increase. A function is
   * asked at each scrape.
   */
  known?: KnownSeries;
  on: Event;
  count: (fact: TelemetryEvents[Event], add: Add) => void;
}

/** A counter or a histogram, and how a fact of telemetry counts for it. */
export type CountedMetric = { [Event in TelemetryEvent]: FactRow<Event> }[TelemetryEvent];

/** A gauge that is read at each scrape. A series that is not set then has no sample. */
export interface ReadMetric extends Metric {
  read: (set: (labels: LabelValues, value: number | undefined) => void) => void;
}

export function countFacts(
  telemetry: Pick<Telemetry, 'on'>,
  registry: Registry,
  rows: readonly CountedMetric[],
): void {
  // `on` and `count` of a row belong to one event, which the compiler cannot follow through a union of rows.
  for (const row of rows as readonly FactRow<TelemetryEvent>[]) {
    const add = row.buckets ? histogramOf(registry, row, row.buckets) : counterOf(registry, row);
    telemetry.on(row.on, (fact) => row.count(fact, add));
  }
}

export function readGauges(registry: Registry, rows: readonly ReadMetric[]): void {
  for (const { name, help, labels = [], read } of rows) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      collect() {
        gauge.reset();
        if (labels.length === 0) gauge.remove();
        read((values, value) => {
          if (value !== undefined) gauge.labels(seriesLabels(labels, values)).set(value);
        });
      },
    });
  }
}

function counterOf(
  registry: Registry,
  { name, help, labels = [], known = [] }: Metric & { known?: KnownSeries },
): Add {
  const begin = () => {
    for (const values of typeof known === 'function' ? known() : known) series(values).inc(0);
  };
  const collect = typeof known === 'function' ? { collect: begin } : {};
  const counter = new Counter({ name, help, labelNames: labels, registers: [registry], ...collect });
  const series = seriesOf((...values) => counter.labels(seriesLabels(labels, values)));
  begin();
  return (values, amount = 1) => series(values).inc(amount);
}

function histogramOf(
  registry: Registry,
  { name, help, labels = [] }: Metric,
  buckets: readonly number[],
): Add {
  const registers = [registry];
  const histogram = new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers });
  const series = seriesOf((...values) => histogram.labels(seriesLabels(labels, values)));
  return (values, amount = 1) => series(values).observe(amount);
}

function seriesLabels(names: readonly string[], values: LabelValues): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name, at) => {
      const value = values[at];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Finding a series by its labels hashes them, so each is found once, and not for each fact. */
function seriesOf<Series>(find: (...values: LabelValues) => Series): (values: LabelValues) => Series {
  const found = memoize(find);
  return (values) => found(...values);
}
