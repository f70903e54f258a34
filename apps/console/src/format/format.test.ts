import { describe, expect, it } from 'vitest';
import { formatBytes, formatCompact, formatCount, formatRate, formatShare, unknown } from './numbers.ts';
import { formatClock, formatDuration, formatMoment, formatRelative } from './times.ts';

describe('what is not known', () => {
  it.each([
    formatCount,
    formatCompact,
    formatRate,
    formatBytes,
    formatShare,
    formatDuration,
    formatMoment,
    formatClock,
  ])('is a dash: %o', (format) => {
    expect([format(null), format(undefined)]).toEqual([unknown, unknown]);
  });
});

describe('numbers', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1_234_567, '1,234,567'],
  ])('counts %d as %s', (value, text) => expect(formatCount(value)).toBe(text));

  it.each([
    [0, '0'],
    [9_999, '9,999'],
    [10_000, '10K'],
    [1_234_567, '1.2M'],
    [-12_345, '-12.3K'],
  ])('shortens %d to %s', (value, text) => expect(formatCompact(value)).toBe(text));

  it.each([
    [0, '0/s'],
    [1234.5, '1,230/s'],
    [12.34, '12.3/s'],
    [0.5, '0.5/s'],
    [0.075, '4.5/min'],
    [0.0001, '0.006/min'],
  ])('says a rate of %d as %s', (value, text) => expect(formatRate(value)).toBe(text));

  it.each([
    [0, '0 B'],
    [1023, '1,023 B'],
    [1024, '1 KiB'],
    [1024 ** 2 * 1.5, '1.5 MiB'],
    [1024 ** 2 - 1, '1 MiB'],
    [1024 ** 2 * 999.6, '1,000 MiB'],
    [1024 ** 6, '1,024 PiB'],
  ])('says %d bytes as %s', (value, text) => expect(formatBytes(value)).toBe(text));

  it.each([
    [0, '0 %'],
    [0.001, '0.1 %'],
    [0.0999, '10 %'],
    [0.42, '42 %'],
    [1, '100 %'],
  ])('says a share of %d as %s', (value, text) => expect(formatShare(value)).toBe(text));
});

describe('spans of time', () => {
  it.each([
    [0, '0 ms'],
    [0.4, '< 1 ms'],
    [999.4, '999 ms'],
    [999.6, '1.00 s'],
    [1_240, '1.24 s'],
    [9_994, '9.99 s'],
    [9_996, '10.0 s'],
    [59_949, '59.9 s'],
    [59_960, '1 m'],
    [200_000, '3 m 20 s'],
    [3_600_000, '1 h'],
    [7_500_000, '2 h 5 m'],
    [3_605_000, '1 h'],
    [4 * 86_400_000 + 3 * 3_600_000, '4 d 3 h'],
  ])('are read: %d ms is %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  it.each([
    [0, 'now'],
    [1_400, 'now'],
    [12_000, '12 s ago'],
    [59_400, '59 s ago'],
    [59_600, '1 m ago'],
    [3_569_000, '59 m ago'],
    [3_599_000, '1 h ago'],
    [86_400_000, '1 d ago'],
    [-7_200_000, 'in 2 h'],
  ])('are told from now: %d ms ago is "%s"', (ms, text) => {
    const now = 1_800_000_000_000;
    expect(formatRelative(now - ms, now)).toBe(text);
  });
});

describe('moments', () => {
  const at = new Date(2026, 10, 22, 23, 50, 43, 120).getTime();

  it('are in the time of this machine', () => {
    expect(formatMoment(at)).toBe('22 Nov 2026, 23:50:43.120');
    expect(formatClock(at)).toBe('23:50:43');
    expect(formatMoment(at - 120)).toBe('22 Nov 2026, 23:50:43.000');
  });
});
