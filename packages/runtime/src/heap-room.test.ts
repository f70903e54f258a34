import { expect, it } from 'vitest';
import { growthPercent } from './heap-room.ts';

it('gives a heap the same room whatever its size, and leaves a large one to V8', () => {
  const mib = 1024 * 1024;
  expect([16, 32, 64, 128].map((size) => growthPercent(size * mib))).toEqual([400, 200, 100, 50]);
  expect([129, 4_000].map((size) => growthPercent(size * mib))).toEqual([0, 0]);
});
