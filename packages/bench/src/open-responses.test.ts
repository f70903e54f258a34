import { expect, it } from 'vitest';
import { expectOpenResponses, untilOpenResponses } from './open-responses.ts';

const service = { keyPrefix: 'bench:' };

/** A Redis that has these numbers of open responses, one after the other; the last one stays. */
function redisWith(...counts: number[]) {
  return { openResponses: async () => (counts.length > 1 ? counts.shift() : counts[0]) ?? 0 };
}

it('waits for the first reading that is low enough, and returns it', async () => {
  const redis = redisWith(30, 20, 9, 0);
  expect(await untilOpenResponses(redis, service, { atMost: 10, withinMs: 60_000 })).toBe(9);
});

it('gives up when the time is over', async () => {
  const waiting = untilOpenResponses(redisWith(7), service, { atMost: 0, withinMs: 0 });
  await expect(waiting).rejects.toThrow('7 responses were still open after 0 ms');
});

it('takes no reading of nothing for an empty queue', async () => {
  await expectOpenResponses(redisWith(5), service, 5);
  await expect(expectOpenResponses(redisWith(0), service, 5)).rejects.toThrow('0 responses are open');
});
