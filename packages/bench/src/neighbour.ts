import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from './load/order.ts';

const restMs = 20;

/** Has one caller send a request after the other until something has ended. Returns how long each took, in milliseconds. */
export async function askMeanwhile({ origin, path, headers, body }: Target, end: Promise<unknown>) {
  const tookMs: number[] = [];
  let isOver = false;
  const stop = () => {
    isOver = true;
  };
  end.then(stop, stop);
  while (!isOver) {
    const begunAt = performance.now();
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`the neighbour was answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
    tookMs.push(performance.now() - begunAt);
    await pause(restMs);
  }
  return tookMs;
}
