import { readdir, readFile } from 'node:fs/promises';

/** What a process takes. */
export interface Resources {
  rssMiB: number;
  fds: number;
  /** What is alive in it, of a process of ours; see `liveHeapMiB`. It is not in every sample. */
  heapMiB?: number;
  /** Keys of the store; no other process has any. */
  keys?: number;
  connections?: number;
}

export interface Sample extends Resources {
  process: string;
  /** Milliseconds since the begin of the measurement. */
  at: number;
}

/** Reads what a process of this machine takes, from /proc. Rejects if the process is gone. */
export async function resourcesOf(pid: number): Promise<Resources> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return { rssMiB: kib / 1024, fds: (await readdir(`/proc/${pid}/fd`)).length };
}

/** The slope of the line that fits best, per hour. 0 for fewer than two points. */
export function slopePerHour(points: readonly { at: number; value: number }[]): number {
  const count = points.length;
  if (count < 2) return 0;
  const meanAt = points.reduce((sum, { at }) => sum + at, 0) / count;
  const meanValue = points.reduce((sum, { value }) => sum + value, 0) / count;
  const covariance = points.reduce((sum, { at, value }) => sum + (at - meanAt) * (value - meanValue), 0);
  const variance = points.reduce((sum, { at }) => sum + (at - meanAt) ** 2, 0);
  return (covariance / variance) * 3_600_000;
}
