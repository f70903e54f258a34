import { Counter, type Registry } from 'prom-client';

export interface SampledCounterOptions<Label extends string> {
  registry: Registry;
  name: string;
  help: string;
  labelNames?: readonly Label[];
  /** Returns the count since the start for each set of labels. Called at each scrape. */
  counts: () => Iterable<{ labels?: Partial<Record<Label, string>>; count: number }>;
}

/** Exposes a count that is kept elsewhere, and that never shrinks while the process lives. */
export function sampledCounter<Label extends string = never>({
  registry,
  name,
  help,
  labelNames = [],
  counts,
}: SampledCounterOptions<Label>): void {
  const counter: Counter<Label> = new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      counter.reset();
      for (const { labels = {}, count } of counts()) counter.inc(labels, count);
    },
  });
}
