import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from './load/order.ts';

const restMs = 20;

/** The requests of one caller. */
export interface Neighbour {
  /** How long each answer took, in milliseconds. */
  tookMs: number[];
  /** Requests that were refused with 503. */
  refused: number;
}

/** Has one caller send a request after the other until something has ended. */
export async function askMeanwhile(
  { origin, path, headers, body }: Target,
  end: Promise<unknown>,
): Promise<Neighbour> {
  const tookMs: number[] = [];
  let refused = 0;
  let isOver = false;
  const stop = () => {
    isOver = true;
  };
  end.then(stop, stop);
  while (!isOver) {
    const begunAt = performance.now();
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
    const text = await answer.text();
    if (answer.ok) tookMs.push(performance.now() - begunAt);
    else if (answer.status === 503) refused += 1;
    else throw new Error(`the neighbour was answered ${answer.status}: ${text}`);
    await pause(restMs);
  }
  return { tookMs, refused };
}
