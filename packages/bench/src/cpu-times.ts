import { treeCpuTimeMs } from '@sluice/testing';
import type { BenchRedis } from './bench-redis.ts';
import type { Child } from './child-process.ts';

/** CPU time of each process that took part, with its children, in milliseconds. Undefined where it is unknown. */
export type CpuTimes = Map<string, number | undefined>;

/** Redis is left out where there is none. */
export async function readCpuTimes(
  processes: ReadonlyMap<string, Pick<Child, 'pid'>>,
  redis: BenchRedis | undefined,
): Promise<CpuTimes> {
  const times: CpuTimes = new Map();
  for (const [role, { pid }] of processes) times.set(role, treeCpuTimeMs(pid));
  if (redis) times.set('redis', await redis.cpuTimeMs());
  return times;
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  return new Map(
    [...after].map(([role, time]) => {
      const earlier = before.get(role);
      return [role, time === undefined || earlier === undefined ? undefined : time - earlier];
    }),
  );
}

/** CPU time of these processes together, in milliseconds. NaN where one is unknown. */
export function cpuOf({ cpuMs }: { cpuMs: CpuTimes }, roles: readonly string[]): number {
  return roles.reduce((total, role) => total + (cpuMs.get(role) ?? Number.NaN), 0);
}
