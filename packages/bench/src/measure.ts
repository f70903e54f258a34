import type { BenchRedis } from './bench-redis.ts';
import type { Child } from './child-process.ts';
import { cpuBetween, type CpuTimes, readCpuTimes } from './cpu-times.ts';
import type { LoadOrder, LoadReply, LoadResult } from './load/order.ts';

/** The result of one round of one alternative. */
export interface Measurement extends LoadResult {
  cpuMs: CpuTimes;
}

export interface MeasureOptions {
  load: Child;
  /** Undefined for an alternative without Redis. */
  redis: BenchRedis | undefined;
  /** The other processes of the alternative, by role. */
  processes: ReadonlyMap<string, Pick<Child, 'pid'>>;
  /** Waits for work that goes on behind the answers, so that its CPU time counts. Is told when the order began. */
  settle?: (completed: number, startedAt: number) => Promise<void>;
}

/** How long requests in flight at the end of an order may take to finish. */
const slackMs = 45_000;

/**
 * Runs an order and takes the CPU time of every process that is part of it.
 *
 * @throws {Error} when an answer was wrong. Wrong answers can be faster than right ones, so a figure would mean nothing.
 */
export async function measure(order: LoadOrder, options: MeasureOptions): Promise<Measurement> {
  const processes = new Map([...options.processes, ['load', options.load] as const]);
  const read = () => readCpuTimes(processes, options.redis);
  await options.redis?.speed.run();
  const before = await read();
  const startedAt = performance.now();
  const result = await runLoad(options.load, order);
  await options.settle?.(result.completed, startedAt);
  return { ...result, cpuMs: cpuBetween(before, await read()) };
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
