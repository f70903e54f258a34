import { spawn } from 'node:child_process';
import fileSystem, { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spyInImports, temporaryFolder } from '@sluice/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { bornAt, isAlive } from '@sluice/runtime';
import { lockDirectory } from './directory-lock.ts';

let directory: string;
let file: string;

beforeEach(() => {
  directory = temporaryFolder();
  file = join(directory, 'sluice.lock');
});

/** A process that lives as long as the function runs. */
async function withProcess(use: (pid: number) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  if (child.pid === undefined) throw new Error('no process');
  try {
    await use(child.pid);
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

async function deadPid(): Promise<number> {
  let dead = 0;
  await withProcess((pid) => {
    dead = pid;
    return Promise.resolve();
  });
  return dead;
}

/** The birth of no process can be found out, as for want of a descriptor. */
function refuseToTellBirths(): void {
  const read = fileSystem.readFileSync;
  const spy = vi.spyOn(fileSystem, 'readFileSync').mockImplementation((path, options) => {
    if (String(path).startsWith('/proc/')) throw new Error('too many open files');
    return read(path, options);
  });
  spyInImports(spy);
}

describe('directory lock', () => {
  it('creates the directory and leaves nothing but its data behind', async () => {
    const inner = join(directory, 'a', 'b');
    const lock = await lockDirectory(inner);
    expect(readdirSync(inner)).toEqual(['sluice.lock']);
    lock.release();
    lock.release();
    expect(readdirSync(inner)).toEqual([]);
  });

  it('refuses a directory that another process holds, and names both', async () => {
    await withProcess(async (pid) => {
      writeFileSync(file, JSON.stringify({ pid }));
      await expect(lockDirectory(directory)).rejects.toMatchObject({
        name: 'FatalError',
        message: expect.stringMatching(new RegExp(`${directory} is in use .*process ${pid}.*DATA_DIR`)),
      });
      expect(existsSync(file)).toBe(true);
    });
  });

  it('takes over the claim of a process that is gone', async () => {
    writeFileSync(file, JSON.stringify({ pid: await deadPid() }));
    const lock = await lockDirectory(directory);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid });
    lock.release();
  });

  it.runIf(process.platform === 'linux')('knows a process number that was given out again', async () => {
    await withProcess(async (pid) => {
      writeFileSync(file, JSON.stringify({ pid, bornAt: 'an earlier boot' }));
      (await lockDirectory(directory)).release();
    });
  });

  it('refuses a directory whose holder may be the process with that number', async () => {
    await withProcess(async (pid) => {
      writeFileSync(file, JSON.stringify({ pid, bornAt: bornAt(pid) }));
      refuseToTellBirths();
      await expect(lockDirectory(directory)).rejects.toMatchObject({ name: 'FatalError' });
    });
  });

  it('takes over a claim that is broken', async () => {
    writeFileSync(file, '{"pi');
    (await lockDirectory(directory)).release();
  });

  it('ignores the server of an old claim when its port is silent', async () => {
    await withProcess(async (pid) => {
      writeFileSync(file, JSON.stringify({ pid: await deadPid(), server: { pid, port: 1 } }));
      (await lockDirectory(directory)).release();
      expect(() => process.kill(pid, 0)).not.toThrow();
    });
  });

  it.runIf(process.platform === 'linux')(
    'ends the server of an old claim that does not listen yet',
    async () => {
      await withProcess(async (pid) => {
        const server = { pid, bornAt: bornAt(pid), port: 1 };
        writeFileSync(file, JSON.stringify({ pid: await deadPid(), server }));
        (await lockDirectory(directory)).release();
        expect(isAlive(pid)).toBe(false);
      });
    },
  );

  it.runIf(process.platform === 'linux')(
    'leaves alone a process that has the number of such a server',
    async () => {
      await withProcess(async (pid) => {
        const server = { pid, bornAt: 'an earlier boot', port: 1 };
        writeFileSync(file, JSON.stringify({ pid: await deadPid(), server }));
        (await lockDirectory(directory)).release();
        expect(isAlive(pid)).toBe(true);
      });
    },
  );

  it('leaves alone a process that may be no such server', async () => {
    await withProcess(async (pid) => {
      const server = { pid, bornAt: bornAt(pid), port: 1 };
      writeFileSync(file, JSON.stringify({ pid: await deadPid(), server }));
      refuseToTellBirths();
      (await lockDirectory(directory)).release();
      expect(isAlive(pid)).toBe(true);
    });
  });

  it('keeps the note of a server', async () => {
    const lock = await lockDirectory(directory);
    lock.noteServer(123, 456);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      pid: process.pid,
      server: { pid: 123, port: 456 },
    });
    lock.release();
  });
});
