import type { BenchRedis } from './bench-redis.ts';
import type { Child } from './child-process.ts';
import { cpuTimeMs } from '@sluice/testing';
import type { LoadOrder, LoadReply, LoadResult } from './load/order.ts';

/** CPU time of each process that took part, in milliseconds. Undefined where it is unknown. */
export type CpuTimes = Map<string, number | undefined>;

/** The result of one round of one alternative. */
export interface Measurement extends LoadResult {
  cpuMs: CpuTimes;
}

export interface MeasureOptions {
  load: Child;
  /** Undefined for an alternative without Redis. */
  redis: BenchRedis | undefined;
  /** The other processes of the alternative, by role. */
  processes: ReadonlyMap<string, Child>;
}

/** How long requests in flight at the end of an order may take to finish. */
const slackMs = 45_000;

/**
 * Runs an order and takes the CPU time of every process that is part of it.
 *
 * @throws {Error} when an answer was wrong. Wrong answers can be faster than right ones, so a figure would mean nothing.
 */
export async function measure(order: LoadOrder, options: MeasureOptions): Promise<Measurement> {
  const before = await readCpuTimes(options);
  const result = await runLoad(options.load, order);
  const after = await readCpuTimes(options);
  const cpuMs: CpuTimes = new Map(
    [...after].map(([role, time]) => {
      const earlier = before.get(role);
      return [role, time === undefined || earlier === undefined ? undefined : time - earlier];
    }),
  );
  return { ...result, cpuMs };
}

/** Runs an order without measuring its cost: a warm-up, or an order that is measured in another way. */
export async function runLoad(load: Child, order: LoadOrder): Promise<LoadResult> {
  const reply = (await load.ask(order, order.durationMs + slackMs)) as LoadReply; // the load generator's message
  if ('error' in reply) throw new Error(`the load generator failed: ${reply.error}`);
  const { failed, completed, firstFailure } = reply.result;
  if (failed > 0) throw new Error(`${failed} of ${failed + completed} answers were wrong: ${firstFailure}`);
  if (completed === 0) throw new Error('not one request was completed');
  return reply.result;
}

async function readCpuTimes({ load, redis, processes }: MeasureOptions): Promise<CpuTimes> {
  const times: CpuTimes = new Map();
  for (const [role, child] of processes) times.set(role, cpuTimeMs(child.pid));
  if (redis) times.set('redis', await redis.cpuTimeMs());
  times.set('load', cpuTimeMs(load.pid));
  return times;
}
