import { expect, it } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

it('forgets what came first, and what was taken', () => {
  const map = new BoundedMap<number, string>(2);
  map.set(1, 'one');
  map.set(2, 'two');
  map.set(3, 'three');
  expect([map.get(1), map.get(2), map.get(3), map.size]).toEqual([undefined, 'two', 'three', 2]);
  expect([map.take(2), map.take(2), map.size]).toEqual(['two', undefined, 1]);
});
