import { expect, it } from 'vitest';
import { resourcesOf, slopePerHour } from './resources.ts';

it('finds the slope of values that rise, fall or stay', () => {
  const line = (perHour: number) =>
    Array.from({ length: 10 }, (_, at) => ({ at: at * 60_000, value: 100 + (perHour * at) / 60 }));
  expect(slopePerHour(line(30))).toBeCloseTo(30);
  expect(slopePerHour(line(-6))).toBeCloseTo(-6);
  expect(slopePerHour(line(0))).toBe(0);
  expect(slopePerHour(line(30).slice(0, 1))).toBe(0);
});

it.runIf(process.platform === 'linux')(
  'reads memory and open files of a process, and not of one that is gone',
  async () => {
    const { rssMiB, fds } = await resourcesOf(process.pid);
    expect(rssMiB).toBeGreaterThan(10);
    expect(fds).toBeGreaterThan(2);
    await expect(resourcesOf(2 ** 30)).rejects.toThrow('ENOENT');
  },
);
