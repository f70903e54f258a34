import { expect, it } from 'vitest';
import { bytesLeft, usedInMinute } from './tenant-use.ts';

/** A window in which so much was used in each of these seconds, as the last use has left it. */
function windowOf(used: Record<number, number>): Record<string, string> {
  const seconds = Object.keys(used).map(Number);
  const window: Record<string, string> = { last: String(Math.max(...seconds)) };
  for (const second of seconds) window[second % 60] = String(used[second]);
  window['sum'] = String(Object.values(used).reduce((sum, each) => sum + each, 0));
  return window;
}

it('counts the current second and the 59 before it', () => {
  const window = windowOf({ 1_000_000: 5, 1_000_030: 7, 1_000_059: 11 });
  expect(usedInMinute(window, 1_000_059)).toBe(23);
  expect(usedInMinute(window, 1_000_060)).toBe(18);
  expect(usedInMinute(window, 1_000_089)).toBe(18);
  expect(usedInMinute(window, 1_000_090)).toBe(11);
  expect(usedInMinute(window, 1_000_118)).toBe(11);
});

it('counts nothing of a window that is over, or that is not there', () => {
  const window = windowOf({ 1_000_000: 5 });
  expect(usedInMinute(window, 1_000_060)).toBe(0);
  expect(usedInMinute(window, 2_000_000)).toBe(0);
  expect(usedInMinute({}, 1_000_000)).toBe(0);
});

it('keeps counting what a clock that was set back had counted before', () => {
  expect(usedInMinute(windowOf({ 1_000_000: 5, 1_000_050: 7 }), 999_000)).toBe(12);
});

it('does not take the sum for what is left after buckets have gone', () => {
  const window = { ...windowOf({ 1_000_059: 3 }), sum: '900' };
  expect(usedInMinute(window, 1_000_100)).toBe(3);
});

it('leaves out of what is stored the bytes that are gone by now', () => {
  const held = {
    sum: '111',
    next: '1000',
    last: '3000',
    '1000': '1',
    '2000': '10',
    u1500: '20',
    u3000: '80',
  };
  expect(bytesLeft(held, 999)).toBe(111);
  expect(bytesLeft(held, 1000)).toBe(110);
  expect(bytesLeft(held, 2000)).toBe(80);
  expect(bytesLeft(held, 3000)).toBe(0);
});
