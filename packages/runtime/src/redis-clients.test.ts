import { describe, expect, it } from 'vitest';
import { maskRedisUrl } from './redis-clients.ts';
import { retryDelayMs } from './redis-primary.ts';

describe('retry delay', () => {
  it('grows to a second plus jitter and stays there', () => {
    const delays = [1, 2, 3, 4, 5, 6, 1000].map((attempt) => retryDelayMs(attempt, () => 0));
    expect(delays).toEqual([100, 200, 400, 800, 1000, 1000, 1000]);
    expect(retryDelayMs(1000, () => 0.999)).toBe(1199);
  });
});

describe('masked Redis URL', () => {
  it.each([
    ['redis://:hunter2@db:6379/1', 'redis://***@db:6379/1'],
    ['rediss://user:pa%40ss@db.example.com', 'rediss://***@db.example.com'],
    ['redis://127.0.0.1:6379', 'redis://127.0.0.1:6379'],
    ['redis://db/0?password=hunter2', 'redis://db/0'],
    ['hunter2@db', '(not a URL)'],
  ])('shows %s as %s', (url, masked) => {
    expect(maskRedisUrl(url)).toBe(masked);
  });
});
