import { randomFillSync } from 'node:crypto';

const poolSize = 8 * 1024;
let pool = Buffer.alloc(0);

/**
 * Random bytes for ids. They come from the system's generator in pools, because a call for each id took 2 to 4 % of an
 * api's CPU time. Every byte is used once.
 */
export function randomBytes(size: number): Uint8Array {
  if (size > poolSize) return randomFillSync(new Uint8Array(size));
  if (pool.length < size) pool = randomFillSync(Buffer.allocUnsafeSlow(poolSize));
  const taken = pool.subarray(0, size);
  pool = pool.subarray(size);
  return taken;
}
