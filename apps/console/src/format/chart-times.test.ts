import { describe, expect, it } from 'vitest';
import { chartTimes } from './chart-times.ts';

const hourMs = 3_600_000;
const begin = Date.UTC(2026, 10, 22);
const every = (stepMs: number, count: number) =>
  Array.from({ length: count }, (_, at) => begin + at * stepMs);

describe('the times of a chart', () => {
  it('are those of the clock, for hours', () => {
    const { mark, moment } = chartTimes(every(10_000, 360), 'UTC');
    expect(mark(begin + 14 * hourMs)).toBe('14:00');
    expect(moment(begin + 14 * hourMs + 5_000)).toBe('14:00:05');
  });

  it('say which day they are of, for a day that is not that of a calendar', () => {
    const { mark, moment } = chartTimes(every(hourMs, 25), 'UTC');
    expect(mark(begin + 14 * hourMs)).toBe('14:00');
    expect(moment(begin)).toBe('22 Nov 00:00');
    expect(moment(begin + 24 * hourMs)).toBe('23 Nov 00:00');
  });

  it('have a date in marks, too, for several days', () => {
    const { mark, moment } = chartTimes(every(hourMs, 7 * 24), 'UTC');
    expect(mark(begin + 24 * hourMs)).toBe('23 Nov');
    expect(mark(begin + 36 * hourMs)).toBe('23 Nov 12:00');
    expect(moment(begin + 37 * hourMs)).toBe('23 Nov 13:00');
  });

  it('are dates alone, each another one, where each stands for a day', () => {
    const days = every(24 * hourMs, 31);
    const { mark, moment } = chartTimes(days, 'UTC');
    expect(new Set(days.map(mark)).size).toBe(31);
    expect(mark(begin)).toBe('22 Nov');
    expect(mark(begin + 12 * hourMs)).toBe('');
    expect(moment(begin)).toBe('Sun 22 Nov');
  });

  it('are those of their time zone, or of this machine', () => {
    const west = chartTimes(every(hourMs, 25), 'America/Los_Angeles');
    expect(west.mark(begin)).toBe('16:00');
    expect(west.moment(begin)).toBe('21 Nov 16:00');
    const here = new Date(2026, 10, 22, 23, 50).getTime();
    expect(chartTimes([here]).mark(here)).toBe('23:50');
  });

  it('are there for a chart without any', () => {
    expect(chartTimes([], 'UTC').mark(begin)).toBe('00:00');
  });
});
