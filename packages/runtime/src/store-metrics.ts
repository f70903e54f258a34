import type { Registry } from 'prom-client';
import { readGauges, type ReadMetric } from './metric-table.ts';
import type { UsedMemory } from './redis-memory.ts';
import type { RedisWatch } from './redis-watch.ts';
import { sampledCounter } from './sampled-counter.ts';

/** The memory of Redis in one cell. */
export interface CellMemory {
  cell: string;
  /** Undefined until it has told. */
  used: UsedMemory | undefined;
}

export interface StoreToMeasure {
  redis: Pick<RedisWatch, 'isWell' | 'problems'>;
  /** The memory of Redis in each cell, and how full it may be before new work is refused, in per cent; absent in a process that does not look. */
  memory?: { cells: () => readonly CellMemory[]; refusesAtPercent: () => number };
  /** Lines of the journal that were dropped since the start; undefined when none is kept. */
  journalDropped: () => number | undefined;
}

/** Shows how the store serves this process, from facts that the process has already: a scrape asks Redis nothing. */
export function measureStore(registry: Registry, { redis, memory, journalDropped }: StoreToMeasure): void {
  readGauges(registry, [
    {
      name: 'sluice_store_ready',
      help: 'Whether this process reaches Redis on every connection and Redis takes writes: 1 or 0.',
      read: (set) => set([], Number(redis.isWell)),
    },
    {
      name: 'sluice_store_problems',
      help: 'Problems that make Redis less safe than it should be, as of the last connect: refuse keeps the process from being ready, warn may lose accepted work.',
      labels: ['level'],
      read: (set) => {
        for (const level of ['refuse', 'warn'] as const) {
          set([level], redis.problems.filter(({ severity }) => severity === level).length);
        }
      },
    },
  ]);
  sampledCounter({
    registry,
    name: 'sluice_journal_dropped_total',
    help: 'Lines and entries of the journal that were not written. The console has gaps where they belong.',
    counts: () => [{ count: journalDropped() ?? 0 }],
  });
  if (memory) readGauges(registry, memoryMetrics(memory));
}

function memoryMetrics({
  cells,
  refusesAtPercent,
}: NonNullable<StoreToMeasure['memory']>): readonly ReadMetric[] {
  return [
    {
      name: 'sluice_store_memory_used_bytes',
      help: 'Memory that Redis uses, by cell. The same from every api process: take one of them.',
      labels: ['cell'],
      read: (set) => {
        for (const { cell, used } of cells()) set([cell], used?.usedBytes);
      },
    },
    {
      name: 'sluice_store_memory_limit_bytes',
      help: 'maxmemory of Redis, or the memory of its machine where there is none, by cell; absent when it hides both.',
      labels: ['cell'],
      read: (set) => {
        for (const { cell, used } of cells()) set([cell], used?.limitBytes);
      },
    },
    {
      name: 'sluice_store_memory_refusal_ratio',
      help: 'The share of that limit from which on new work for a cell is refused with 503.',
      read: (set) => set([], refusesAtPercent() / 100),
    },
  ];
}
