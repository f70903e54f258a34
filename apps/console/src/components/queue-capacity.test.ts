import { expect, it } from 'vitest';
import { capacityOf } from './queue-capacity.ts';

it('lets run what both the workers and the queue allow', () => {
  expect(capacityOf({ slots: 8, concurrency: null })).toBe(8);
  expect(capacityOf({ slots: 8, concurrency: 3 })).toBe(3);
  expect(capacityOf({ slots: 2, concurrency: 3 })).toBe(2);
  expect(capacityOf({ slots: null, concurrency: 3 })).toBe(3);
  expect(capacityOf({ slots: null, concurrency: null })).toBeNull();
});
