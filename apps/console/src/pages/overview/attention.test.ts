import type {
  Bucket,
  Overview,
  ProcessOverview,
  QueueOverview,
  UpstreamOverview,
} from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { problemsOf } from './attention.ts';

const at = 1_800_000_000_000;
const none = { accepted: 0, completed: 0, incomplete: 0, failed: 0, cancelled: 0, refused: 0 };
const figures = {
  ...none,
  input_tokens: 0,
  output_tokens: 0,
  first_token_p50_ms: null,
  first_token_p99_ms: null,
  ...{ wait_p50_ms: null, wait_p99_ms: null, run_p50_ms: null, run_p99_ms: null },
};
const worker: ProcessOverview = {
  ...{ role: 'worker', id: 'w', host: 'gpu-1', pid: 7, version: '1', started_at: 0, seen_at: at },
  ...{ stopping: false, running: 0, slots: [], active_at: null },
};
const queue: QueueOverview = {
  ...{ queue: 'q', models: ['m'], paused: false, waiting: 0, active: 0, oldest_wait_ms: null },
  ...{ concurrency: null, slots: 4 },
};
const upstream: UpstreamOverview = {
  ...{ provider: 'p', breaker: 'closed', workers_open: 0, workers: 2, metrics_fault: null, models: [] },
};

function overview(
  given: Partial<Overview> & { bucket?: Partial<Bucket>; redisPercent?: number | null } = {},
): Overview {
  const { bucket, redisPercent = 10, ...rest } = given;
  return {
    ...{ object: 'overview', at, bucket_seconds: 10, hour: figures, errors: [], models: [], tenants: [] },
    buckets: [{ at: at - 10_000, ...figures, ...bucket }],
    queues: [queue],
    processes: [worker],
    upstreams: [upstream],
    redis: {
      ...{ used_bytes: 1, limit_bytes: 10, used_percent: redisPercent, refuses_at_percent: 90 },
      ...{ version: '8', is_persistent: true },
    },
    ...rest,
  };
}

/** Each problem as its tone, its key and where it leads. */
const told = (given: Overview) =>
  problemsOf(given).map(({ tone, key, look }) => `${tone} ${key} ${look.to}${look.hash ?? ''}`);

describe('problemsOf', () => {
  it('is silent when all is well', () => {
    expect(told(overview())).toEqual([]);
  });

  it('tells first that what it knows is out of date', () => {
    const problems = problemsOf(overview({ redisPercent: 93 }), { isStale: true });
    expect(problems.map(({ tone, key }) => `${tone} ${key}`)).toEqual(['bad stale', 'bad redis']);
  });

  it('tells which cells of the store are away', () => {
    const { redis } = overview();
    const problems = (...away: string[]) => problemsOf(overview({ redis: { ...redis, cells_away: away } }));
    expect(problems('E')).toMatchObject([{ tone: 'bad', text: expect.stringContaining('in cell E') }]);
    expect(problems('E', 's')).toMatchObject([
      { tone: 'bad', text: expect.stringContaining('in cells E, s') },
    ]);
  });

  it('tells that no worker runs, once, however many queues wait for it', () => {
    const queues = [{ ...queue, slots: 0, waiting: 3, oldest_wait_ms: 900 }];
    expect(told(overview({ processes: [], queues }))).toEqual(['bad no-worker /workers']);
  });

  it('does not take missing statistics for missing workers', () => {
    const queues = [{ ...queue, slots: 0, waiting: 3, oldest_wait_ms: 900 }];
    expect(told(overview({ missing: ['statistics', 'processes'], processes: [], queues }))).toEqual([]);
  });

  it('tells of a queue that no worker serves, one that is paused, and one that waits long', () => {
    const waiting = { ...queue, waiting: 3 };
    const queues = [
      { ...waiting, queue: 'unserved', slots: 0, oldest_wait_ms: 900 },
      { ...waiting, queue: 'paused', paused: true, oldest_wait_ms: 900 },
      { ...waiting, queue: 'slow', oldest_wait_ms: 61_000 },
      { ...waiting, queue: 'stuck', oldest_wait_ms: 301_000 },
      { ...waiting, queue: 'left by its models', models: [], oldest_wait_ms: 62_000 },
      { ...waiting, queue: 'fine', oldest_wait_ms: 59_000 },
      { ...queue, queue: 'empty', paused: true },
    ];
    expect(told(overview({ queues }))).toEqual([
      'bad queue:unserved /queues',
      'bad queue:stuck /responses',
      'warn queue:paused /queues',
      'warn queue:slow /responses',
      'warn queue:left by its models /queues',
    ]);
  });

  it('tells for an hour of a process that was lost, and what it held', () => {
    const lost = [{ ...worker, id: 'x', running: 2, seen_at: at - 120_000 }];
    expect(problemsOf(overview({ lost }))).toMatchObject([
      {
        tone: 'warn',
        key: 'lost',
        text: 'The worker on gpu-1 (process 7) was lost 2 m ago, without signing off, with 2 responses running.',
      },
    ]);
    const two = [...lost, { ...worker, id: 'y', seen_at: at - 60_000 }];
    expect(problemsOf(overview({ lost: two }))[0]?.text).toBe(
      '2 processes were lost in the last hour, the latest 1 m ago: the worker on gpu-1 (process 7).',
    );
    expect(told(overview({ lost: [{ ...worker, seen_at: at - 3_700_000 }] }))).toEqual([]);
  });

  it('tells of a worker that has fallen silent', () => {
    expect(told(overview({ processes: [worker, { ...worker, id: 'x', seen_at: at - 26_000 }] }))).toEqual([
      'warn silent:x /workers',
    ]);
  });

  it('tells of upstreams that are down, tried again, or limit us for long', () => {
    const model = {
      model: 'm',
      parked_ms: 14_000,
      in_flight: 0,
      limit: null,
      calls_per_second: null,
      waiting: 0,
    };
    const upstreams: UpstreamOverview[] = [
      { ...upstream, provider: 'down', breaker: 'open', workers_open: 1, models: [model] },
      { ...upstream, provider: 'tried', breaker: 'half_open', workers_open: 1 },
      { ...upstream, provider: 'limited', models: [model] },
      { ...upstream, provider: 'pressed', models: [{ ...model, parked_ms: 800 }] },
    ];
    expect(told(overview({ upstreams }))).toEqual([
      'bad breaker:down /upstreams',
      'warn breaker:tried /upstreams',
      'warn parked:limited /upstreams',
    ]);
  });

  it('tells when Redis comes near its limit, and when it is past it', () => {
    expect(told(overview({ redisPercent: 79 }))).toEqual([]);
    expect(told(overview({ redisPercent: null }))).toEqual([]);
    expect(told(overview({ redisPercent: 82 }))).toEqual(['warn redis /redis']);
    expect(told(overview({ redisPercent: 93 }))).toEqual(['bad redis /redis']);
  });

  it('tells of high rates of failures and refusals once enough happened to know', () => {
    expect(told(overview({ bucket: { failed: 2, completed: 2 } }))).toEqual([]);
    expect(told(overview({ bucket: { failed: 3, completed: 27, accepted: 27, refused: 3 } }))).toEqual([
      'warn errors /responses',
      'warn refusals /tenants',
    ]);
    expect(told(overview({ bucket: { failed: 30, completed: 30 } }))).toEqual(['bad errors /responses']);
  });
});
