import type { Overview } from '@sluice/contract/admin';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OverviewFeed } from './overview-feed.ts';

const figures = { accepted: 0 } as Overview['hour']; // the feed does not look at them

function overview(accepted: number[]): Overview {
  return {
    object: 'overview',
    at: 0,
    bucket_seconds: 10,
    buckets: accepted.map((count, at) => ({ ...figures, at, accepted: count })),
    hour: figures,
    errors: [],
    models: [],
    tenants: [],
    queues: [],
    processes: [],
    upstreams: [],
    redis: {
      used_bytes: 0,
      limit_bytes: null,
      used_percent: null,
      refuses_at_percent: 80,
      version: '7.0.0',
      is_persistent: true,
    },
  };
}

const read = vi.fn<() => Promise<Overview>>();
const forget = vi.fn<() => void>();
let feed: OverviewFeed;

beforeEach(() => {
  vi.useFakeTimers();
  read.mockReset().mockImplementation(() => Promise.resolve(overview([1, 2, 3])));
  forget.mockReset();
  feed = new OverviewFeed({ read, forget });
});
afterEach(() => {
  feed.stop();
  vi.useRealTimers();
});

function watcher() {
  const seen: number[][] = [];
  const errors: unknown[] = [];
  const leave = feed.watch({
    changed: ({ buckets }) => seen.push(buckets.map(({ at }) => at)),
    failed: (error) => errors.push(error),
  });
  return { seen, errors, leave };
}

describe('the feed of the overview', () => {
  it('reads once for all who ask at a time, and again after a second', async () => {
    await Promise.all([feed.latest(), feed.latest(), feed.latest()]);
    await feed.latest();
    expect(read).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(1_001);
    await feed.latest();
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('reads once each two seconds, however many watch', async () => {
    await feed.latest();
    const watchers = Array.from({ length: 50 }, watcher);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(read).toHaveBeenCalledTimes(6);
    for (const { seen } of watchers) expect(seen).toHaveLength(5);
  });

  it('reads nothing while nobody looks, and forgets soon', async () => {
    await feed.latest();
    const [one, other] = [watcher(), watcher()];
    await vi.advanceTimersByTimeAsync(4_000);
    one.leave();
    other.leave();
    other.leave();
    const before = read.mock.calls.length;
    await vi.advanceTimersByTimeAsync(50_000);
    expect(forget).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(read).toHaveBeenCalledTimes(before);
    expect(forget).toHaveBeenCalledTimes(1);
  });

  it('tells of the buckets that have changed, also in the past', async () => {
    await feed.latest();
    const { seen } = watcher();
    read.mockResolvedValue(overview([1, 9, 3, 1]));
    await vi.advanceTimersByTimeAsync(2_000);
    // Somebody else asks in between.
    await vi.advanceTimersByTimeAsync(1_500);
    read.mockResolvedValue(overview([1, 9, 3, 2]));
    await feed.latest();
    await vi.advanceTimersByTimeAsync(2_500);
    expect(seen).toEqual([[1, 3], [3], []]);
  });

  it('takes a tenth of the time when there is much to read', async () => {
    await feed.latest();
    read.mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return overview([]);
    });
    watcher();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(read.mock.calls.length - 1).toBeLessThanOrEqual(6);
  });

  it('says when it cannot be read, and goes on', async () => {
    await feed.latest();
    const { seen, errors } = watcher();
    read.mockRejectedValueOnce(new Error('away'));
    await vi.advanceTimersByTimeAsync(2_000);
    expect([seen.length, errors.length]).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([seen.length, errors.length]).toEqual([1, 1]);
  });

  it('does nothing once it has stopped', async () => {
    await feed.latest();
    watcher();
    feed.stop();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(read).toHaveBeenCalledTimes(1);
    expect(forget).not.toHaveBeenCalled();
  });
});
