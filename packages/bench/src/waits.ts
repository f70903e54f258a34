import type { Sent } from './traffic/flow.ts';
import type { Arrival } from './upstream/paced-model.ts';

/**
 * From sending each request to its arrival at the upstream, in milliseconds. One that has not arrived by `until` counts
 * with the time until then: it waited at least for so long.
 */
export function waitsOf(sent: readonly Sent[], log: readonly Arrival[], until: number): number[] {
  const arrivedAt = firstArrivals(log);
  return sent.map(({ tag, at }) => (arrivedAt.get(tag) ?? until) - at);
}

/** How many of the requests the upstream has seen. */
export function startedOf(sent: readonly Sent[], log: readonly Arrival[]): number {
  const arrivedAt = firstArrivals(log);
  return sent.filter(({ tag }) => arrivedAt.has(tag)).length;
}

/** From sending each request to its first token. One without any counts with the time until it was given up. */
export function firstTokenWaits(sent: readonly Sent[]): number[] {
  return sent.map(({ at, firstTokenAt, answeredAt }) => (firstTokenAt ?? answeredAt) - at);
}

/** When the upstream saw each tag first. */
export function firstArrivals(log: readonly Arrival[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const { tag, at } of log) if (!first.has(tag)) first.set(tag, at);
  return first;
}
