import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { growthPercent } from '../src/heap-room.ts';

const program = fileURLToPath(new URL('./processes/large-buffers.ts', import.meta.url));

/** How often a process collects its whole heap while it takes large buffers. */
async function collections(...args: string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]);
  return Number.parseInt(stdout, 10);
}

it('collects a small heap less often while large buffers come and go', async () => {
  const [kept, alone] = await Promise.all([collections('kept'), collections()]);
  expect(alone).toBeGreaterThan(50);
  expect(kept).toBeLessThan(alone / 2);
});

it('gives a heap the same room whatever its size, and leaves a large one to V8', () => {
  const mib = 1024 * 1024;
  expect([16, 32, 64, 128].map((size) => growthPercent(size * mib))).toEqual([400, 200, 100, 50]);
  expect([129, 4_000].map((size) => growthPercent(size * mib))).toEqual([0, 0]);
});
