import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findRunningService, noteRunningService } from './running-service.ts';

const service = {
  store: 'redis://:secret@127.0.0.1:1234',
  url: 'http://127.0.0.1:3000',
  adminUrl: 'http://127.0.0.1:3001',
  settingsFile: '/srv/sluice.yaml',
};
let folder: string;
let file: string;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'sluice-running-')), 'not', 'there', 'yet');
  file = join(folder, 'running-service.json');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(join(folder, '../../..'), { recursive: true, force: true });
});

describe('the note of a running service', () => {
  it('tells where its parts are, to its owner alone, and goes with it', () => {
    const note = noteRunningService(folder, service);
    expect(findRunningService(folder)).toEqual({ kind: 'running', pid: process.pid, file, ...service });
    expect(readdirSync(folder)).toEqual(['running-service.json']);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    note.remove();
    note.remove();
    expect(findRunningService(folder)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is told from the note of a process that is gone, which says so', () => {
    const { pid } = spawnSync(process.execPath, ['--version']);
    noteRunningService(folder, service);
    const note = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...note, pid }));
    expect(findRunningService(folder)).toEqual({ kind: 'ended', pid, file });
  });

  it.runIf(process.platform === 'linux')('is told from that of an earlier process with the same id', () => {
    noteRunningService(folder, service);
    const note = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...note, bornAt: 'an earlier boot' }));
    expect(findRunningService(folder)).toMatchObject({ kind: 'ended' });
  });

  it('of a service that started later stays when the earlier one ends', () => {
    const note = noteRunningService(folder, service);
    writeFileSync(file, JSON.stringify({ ...service, pid: process.ppid }));
    note.remove();
    expect(existsSync(file)).toBe(true);
  });

  it('does not inherit the permissions of what a killed process left', () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${file}.${process.pid}`, '', { mode: 0o644 });
    chmodSync(`${file}.${process.pid}`, 0o644);
    noteRunningService(folder, service);
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('that cannot be written is said in one line, without the address', () => {
    const said = vi.spyOn(console, 'error').mockReturnValue(undefined);
    writeFileSync(join(folder, '../../..', 'not'), '');
    noteRunningService(folder, service).remove();
    expect(said).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/cannot be written \(\w+\)/));
    expect(said.mock.calls.join('')).not.toContain('secret');
  });

  it.each(['', '{"pi', '[]'])('is none when it is %j', (text) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, text);
    expect(findRunningService(folder)).toBeUndefined();
  });
});
