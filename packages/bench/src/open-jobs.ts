import { setTimeout as pause } from 'node:timers/promises';
import type { BenchService } from './service.ts';

const pollMs = 50;

/** Waits until at most so many jobs wait or run, by the metrics of the api, as an operator sees them. Returns how many do. */
export async function untilOpenJobs(
  service: BenchService,
  { atMost, withinMs }: { atMost: number; withinMs: number },
): Promise<number> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await fetch(`${service.adminUrl}/metrics`);
    const open = openJobs(await answer.text());
    if (open <= atMost) return open;
    if (performance.now() > deadline) throw new Error(`${open} jobs were still open after ${withinMs} ms`);
    await pause(pollMs);
  }
}

/** Counts the jobs that wait or run, from metrics in the text format of Prometheus. */
export function openJobs(metrics: string): number {
  const samples = metrics.matchAll(
    /^sluice_queue_jobs\{[^}]*state="(waiting|active|delayed)"[^}]*\} (\d+)/gm,
  );
  let jobs = 0;
  let states = 0;
  for (const [, , count] of samples) {
    jobs += Number(count);
    states += 1;
  }
  if (states === 0) throw new Error('the metrics tell nothing of the queue');
  return jobs;
}
