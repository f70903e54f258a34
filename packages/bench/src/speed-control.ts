import type { Redis } from 'ioredis';

/**
 * A piece of work for Redis that is the same in every round of every release. Its CPU time says how fast the machine was
 * meanwhile, so figures of two days can be told apart from two speeds of the machine.
 */
export interface SpeedControl {
  /** Runs it once. Redis does nothing else for some milliseconds, so nothing is measured beside it. */
  run(): Promise<void>;
  /** CPU times of Redis since the last call, in milliseconds. */
  take(): number[];
}

/** Works on numbers, strings and a table, as our scripts do, and on no key. */
const script = `
local parts = {}
for i = 1, 20000 do
  parts[i % 64 + 1] = string.format('%d:%s', i * 7 % 1013, 'value')
  if i % 64 == 0 then table.concat(parts, ',') end
end
return 1`;

export function speedControl(client: Redis, cpuTimeMs: () => Promise<number>): SpeedControl {
  let timesMs: number[] = [];
  return {
    async run() {
      const before = await cpuTimeMs();
      await client.eval(script, 0);
      timesMs.push((await cpuTimeMs()) - before);
    },
    take() {
      const taken = timesMs;
      timesMs = [];
      return taken;
    },
  };
}
