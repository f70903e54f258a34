import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@sluice/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { SnapshotFile } from './snapshot-file.ts';

describe('the file of a snapshot', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });

  /** The calls of the store, which passes names in its memory. */
  function storeOf(file: SnapshotFile) {
    const wasi = { fd_sync: vi.fn(() => 0), path_rename: vi.fn(() => 7) };
    const memory = new ArrayBuffer(64);
    const imports = file.imports(wasi, () => memory);
    const rename = (from: string, to: string) => {
      Buffer.from(memory).write(from + to);
      return imports['path_rename']?.(3, 0, from.length, 3, from.length, to.length);
    };
    return { wasi, rename, sync: () => imports['fd_sync']?.(4) };
  }

  it('takes its place without the store, which does not wait for the disk', async () => {
    const file = new SnapshotFile(folder);
    const { wasi, rename, sync } = storeOf(file);
    writeFileSync(join(folder, 'temp-1.rdb'), 'one');
    expect([sync(), rename('temp-1.rdb', 'dump.rdb')]).toEqual([0, 0]);
    expect(existsSync(file.path)).toBe(false);
    await file.placed;
    expect(readFileSync(file.path, 'utf8')).toBe('one');
    expect(wasi.fd_sync).not.toHaveBeenCalled();
  });

  it('is that of the last snapshot', async () => {
    const file = new SnapshotFile(folder);
    const { rename } = storeOf(file);
    for (const text of ['one', 'two']) {
      writeFileSync(join(folder, 'temp-1.rdb'), text);
      expect(rename('temp-1.rdb', 'dump.rdb')).toBe(0);
    }
    await file.placed;
    expect(readFileSync(file.path, 'utf8')).toBe('two');
  });

  it('is told to the store when it is missing, and to whoever saves when it cannot take its place', async () => {
    const file = new SnapshotFile(folder);
    const { rename } = storeOf(file);
    expect(rename('temp-1.rdb', 'dump.rdb')).not.toBe(0);
    writeFileSync(join(folder, 'temp-1.rdb'), 'one');
    expect(rename('temp-1.rdb', 'dump.rdb')).toBe(0);
    rmSync(join(folder, 'dump.rdb.next'));
    await expect(file.placed).rejects.toThrow('ENOENT');
  });

  it('leaves other files to WASI', () => {
    const { wasi, rename } = storeOf(new SnapshotFile(folder));
    expect(rename('users.tmp', 'users.acl')).toBe(7);
    expect(wasi.path_rename).toHaveBeenCalledWith(3, 0, 9, 3, 9, 9);
  });
});
