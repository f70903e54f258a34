import { describe, expect, it } from 'vitest';
import { cpuTimeMs, parseCpuTimeMs } from './cpu-time.ts';

describe('parseCpuTimeMs', () => {
  it('adds user and system time of a process whose name holds blanks and brackets', () => {
    const stat = '4711 (a (b) c) S 1 4711 4711 0 -1 4194560 1 2 3 4 123 45 6 7 20 0 11 0 100 1000 200';
    expect(parseCpuTimeMs(stat)).toBe(1680);
  });
});

describe('cpuTimeMs', () => {
  it('is unknown for a process that does not exist', () => {
    expect(cpuTimeMs(2 ** 30)).toBeUndefined();
  });
});
