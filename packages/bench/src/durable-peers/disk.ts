import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { median } from '../statistics.ts';

/** Milliseconds until 4 KB more of a file are on disk: the median of 200 writes. */
export async function timeOfSync(directory: string): Promise<number> {
  const file = await open(join(directory, 'sync'), 'w');
  const block = Buffer.alloc(4_096, 'x');
  const times: number[] = [];
  for (let write = 0; write < 200; write += 1) {
    const startedAt = performance.now();
    await file.write(block);
    await file.datasync();
    times.push(performance.now() - startedAt);
  }
  await file.close();
  return median(times);
}
