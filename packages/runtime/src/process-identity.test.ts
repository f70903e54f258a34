import { spawnSync } from 'node:child_process';
import fileSystem from 'node:fs';
import { spyInImports } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import { bornAt, isRunning } from './process-identity.ts';

/** Refuses to read some files: all of them where the process has no descriptor left. */
function refuseToRead(code: string, isRefused: (path: string) => boolean = () => true): void {
  const read = fileSystem.readFileSync;
  const spy = vi.spyOn(fileSystem, 'readFileSync').mockImplementation((file, options) => {
    if (isRefused(String(file))) throw Object.assign(new Error(code), { code });
    return read(file, options);
  });
  spyInImports(spy);
}

describe('a process', () => {
  it.runIf(process.platform === 'linux')('is told from an earlier one with its id', () => {
    const { pid } = process;
    expect(isRunning({ pid, bornAt: bornAt(pid) })).toBe(true);
    expect(isRunning({ pid, bornAt: 'an earlier boot' })).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'of an earlier boot has ended, also where those of others are hidden',
    () => {
      refuseToRead('ENOENT', (path) => path.endsWith('/stat'));
      const [boot] = fileSystem.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').split('\n');
      expect(isRunning({ pid: 1, bornAt: 'an-earlier-boot 1' })).toBe(false);
      expect(isRunning({ pid: 1, bornAt: `${boot} 1` })).toBe(true);
    },
  );

  it('runs as far as anybody knows while its birth cannot be read', () => {
    const known = { pid: process.ppid, bornAt: bornAt(process.ppid) ?? 'a boot' };
    const { pid: dead } = spawnSync(process.execPath, ['--version']);
    refuseToRead('EMFILE');
    expect(isRunning(known)).toBe(true);
    expect(isRunning({ pid: process.ppid })).toBe(true);
    expect(isRunning({ ...known, pid: dead })).toBe(false);
  });
});
