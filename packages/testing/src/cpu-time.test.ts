import { describe, expect, it } from 'vitest';
import { spawnSync } from 'node:child_process';
import { cpuTimeMs, parseCpuTimeMs, treeCpuTimeMs } from './cpu-time.ts';

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

describe('treeCpuTimeMs', () => {
  it.runIf(process.platform === 'linux')('counts children that have ended', () => {
    const before = treeCpuTimeMs(process.pid) ?? Number.NaN;
    const child = spawnSync(process.execPath, [
      '-e',
      'while (process.cpuUsage().user < 200_000); console.log(process.cpuUsage().user / 1000)',
    ]);
    const after = treeCpuTimeMs(process.pid) ?? Number.NaN;
    expect(after - before).toBeGreaterThanOrEqual(Number(child.stdout) - 20); // ticks of 10 ms
  });

  it('is unknown for a process that does not exist', () => {
    expect(treeCpuTimeMs(2 ** 30)).toBeUndefined();
  });
});
