import type { WorkerAnnouncement } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { heardProcesses, processRows, upstreamRows } from './process-report.ts';

type Upstream = WorkerAnnouncement['upstreams'][number];

const upstream = (more: Partial<Upstream> & { models?: Upstream['models'] } = {}): Upstream => ({
  provider: 'p',
  breaker: 'closed',
  metrics_fault: null,
  models: [{ model: 'm', parked_ms: 0, in_flight: 2, limit: 8, calls_per_second: null, waiting: 1 }],
  ...more,
});

const worker = (...upstreams: Upstream[]): WorkerAnnouncement => ({
  role: 'worker',
  host: 'h',
  pid: 1,
  version: '1.0.0',
  started_at: 5,
  stopping: false,
  running: 0,
  slots: [],
  active_at: null,
  upstreams,
});

const heard = (...reports: unknown[]) =>
  heardProcesses(reports.map((report, at) => ({ id: `id${at}`, seenAt: 1_000, report })));

describe('an upstream over all workers', () => {
  it('has the worst breaker and the sum of what is under way', () => {
    const parked: Upstream['models'] = [
      { model: 'm', parked_ms: 4_000, in_flight: 1, limit: 4, calls_per_second: 2.5, waiting: 0 },
    ];
    const rows = upstreamRows(
      heard(
        worker(upstream()),
        worker(upstream({ breaker: 'half_open', models: parked })),
        worker(
          upstream({ breaker: 'open', metrics_fault: 'HTTP 500' }),
          upstream({ provider: 'q', models: [] }),
        ),
      ),
      2_000,
    );
    expect(rows).toEqual([
      {
        provider: 'p',
        breaker: 'open',
        workers_open: 2,
        workers: 3,
        metrics_fault: 'HTTP 500',
        // A second has passed since it was said.
        models: [
          { model: 'm', parked_ms: 3_000, in_flight: 5, limit: 20, calls_per_second: null, waiting: 2 },
        ],
      },
      { provider: 'q', breaker: 'closed', workers_open: 0, workers: 1, metrics_fault: null, models: [] },
    ]);
  });

  it('is a row for each server of a provider that has several', () => {
    const reports = [
      worker(upstream({ server: 'http://a', breaker: 'open' }), upstream({ server: 'http://b' })),
      worker(upstream({ server: 'http://a' }), upstream({ server: 'http://b' })),
    ];
    expect(upstreamRows(heard(...reports), 1_000)).toMatchObject([
      { provider: 'p', server: 'http://a', breaker: 'open', workers_open: 1, workers: 2 },
      { provider: 'p', server: 'http://b', breaker: 'closed', workers_open: 0, workers: 2 },
    ]);
  });
});

describe('a process that was heard of', () => {
  it('is told without its upstreams', () => {
    const [row] = processRows(heard(worker(upstream())));
    expect(row).toMatchObject({ id: 'id0', role: 'worker', seen_at: 1_000 });
    expect(row).not.toHaveProperty('upstreams');
  });

  it.each([
    undefined,
    null,
    'text',
    {},
    { role: 'other' },
    { ...worker(), running: -1 },
    { ...worker(), slots: 3 },
  ])('is left out when it says %j', (report) => {
    expect(heard(report)).toEqual([]);
  });

  it('may say more than this release knows', () => {
    expect(heard({ ...worker(), news: true })).toHaveLength(1);
  });
});
