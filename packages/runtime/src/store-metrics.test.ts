import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { RedisProblem } from './redis-readiness.ts';
import { type CellMemory, measureStore } from './store-metrics.ts';

describe('the metrics of the store', () => {
  it('say whether it is ready, what is wrong with it, how full it is, and what the journal lost', async () => {
    const redis: { isWell: boolean; problems: RedisProblem[] } = { isWell: true, problems: [] };
    let cells: CellMemory[] = [{ cell: '0', used: undefined }];
    let journalDropped: number | undefined;
    const registry = new Registry();
    measureStore(registry, {
      redis,
      memory: { cells: () => cells, refusesAtPercent: () => 80 },
      journalDropped: () => journalDropped,
    });
    const before = await registry.metrics();
    expect(before).toContain('sluice_store_ready 1');
    expect(before).toContain('sluice_store_problems{level="refuse"} 0');
    expect(before).toContain('sluice_journal_dropped_total 0');
    expect(before).not.toMatch(/^sluice_store_memory_(used|limit)_bytes/m);
    redis.isWell = false;
    redis.problems.push({ severity: 'warn', message: 'nothing on disk' });
    cells = [
      { cell: '0', used: { usedBytes: 50, limitBytes: 100 } },
      { cell: '1', used: { usedBytes: 90, limitBytes: 100 } },
    ];
    journalDropped = 7;
    const text = await registry.metrics();
    expect(text).toContain('sluice_store_ready 0');
    expect(text).toContain('sluice_store_problems{level="warn"} 1');
    expect(text).toContain('sluice_store_problems{level="refuse"} 0');
    expect(text).toContain('sluice_store_memory_used_bytes{cell="0"} 50');
    expect(text).toContain('sluice_store_memory_used_bytes{cell="1"} 90');
    expect(text).toContain('sluice_store_memory_limit_bytes{cell="1"} 100');
    expect(text).toContain('sluice_store_memory_refusal_ratio 0.8');
    expect(text).toContain('sluice_journal_dropped_total 7');
  });

  it('leave out a limit that Redis hides', async () => {
    const registry = new Registry();
    measureStore(registry, {
      redis: { isWell: true, problems: [] },
      memory: {
        cells: () => [{ cell: '0', used: { usedBytes: 50, limitBytes: undefined } }],
        refusesAtPercent: () => 80,
      },
      journalDropped: () => 0,
    });
    const text = await registry.metrics();
    expect(text).toContain('sluice_store_memory_used_bytes{cell="0"} 50');
    expect(text).not.toMatch(/^sluice_store_memory_limit_bytes/m);
  });
});
