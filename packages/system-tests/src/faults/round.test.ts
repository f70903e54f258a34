import { afterEach, expect, it, vi } from 'vitest';
import { lookAfterwards } from './round.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('tells how long it took until a round left nothing behind', async () => {
  let now = 1_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const look = async () => {
    now += 4_000;
    return [];
  };
  expect(await lookAfterwards('api killed', 500, look)).toEqual({
    name: 'api killed / afterwards',
    tookMs: 4_500,
    problems: [],
  });
});
