import { setTimeout as pause } from 'node:timers/promises';

export interface Pace {
  /** Between two due times, or from an answer to the next request, in milliseconds. */
  everyMs: number;
  /** No more is asked once this has settled. */
  until: Promise<unknown>;
}

/**
 * Asks at fixed due times, whatever became of those before. Resolves with how long each took from its due time, in milliseconds.
 * A caller who asks one after the other and counts from when it sends meets a stall of a second once, and its 99th percentile shows nothing.
 */
export async function atPace(ask: () => Promise<void>, { everyMs, until }: Pace): Promise<number[]> {
  const lasting = { is: true };
  const end = () => (lasting.is = false);
  until.then(end, end);
  const times: number[] = [];
  const underWay: Promise<void>[] = [];
  for (let due = performance.now(); ; due += everyMs) {
    await pause(Math.max(0, due - performance.now())); // the pace
    if (!lasting.is) break;
    underWay.push(ask().then(() => void times.push(performance.now() - due)));
  }
  await Promise.all(underWay);
  return times;
}

/** Asks one after the other, with a rest between. Resolves with how long each took, which hides stalls: for a neighbour that nobody measures. */
export async function inTurn(ask: () => Promise<void>, { everyMs: restMs, until }: Pace): Promise<number[]> {
  const lasting = { is: true };
  const end = () => (lasting.is = false);
  until.then(end, end);
  const times: number[] = [];
  while (lasting.is) {
    const sentAt = performance.now();
    await ask();
    times.push(performance.now() - sentAt);
    await pause(restMs); // the pace
  }
  return times;
}
