// For the type of `redisUrl`.
import type {} from '@sluice/testing';
import { bundleCommand } from '@sluice/testing';
import { beforeAll, expect, inject, it } from 'vitest';
import { runBench } from '../src/run-bench.ts';

const progress = { say: () => undefined, clear: () => undefined };

beforeAll(bundleCommand);

// A run of several processes, which is as slow as the machine is busy.
it('writes a page with figures of the built apps', { timeout: 120_000 }, async () => {
  const { page } = await runBench({
    quick: true,
    scenarios: ['backlog'],
    rivals: [],
    against: undefined,
    profile: undefined,
    redisUrl: inject('redisUrl'),
    progress,
  });
  // Other tests use the same Redis, and its memory may shrink meanwhile.
  const figures = /-?\d[\d.,]* \(-?\d[\d.,]*\.\.-?\d[\d.,]*\)/;
  const rowAfter = (title: string) => page.split(`**${title}`)[1]?.split('\n')[4] ?? '';
  expect(rowAfter('Accepting')).toMatch(figures);
  expect(rowAfter('Draining')).toMatch(figures);
  expect(rowAfter('Redis memory')).toMatch(figures);
  expect(page).toMatch(
    /\| Redis bytes of a waiting response, 1,000 waiting \| at most 2,500 \| .* \| (yes|\*\*no\*\*) \|/,
  );
  expect(page).toContain('`response:<response>`');
  expect(page).toContain(`Node ${process.version.slice(1)}`);
});

it('names the scenarios there are when asked for another', async () => {
  const asked = runBench({
    quick: true,
    scenarios: ['speed'],
    rivals: [],
    against: undefined,
    profile: undefined,
    redisUrl: inject('redisUrl'),
    progress,
  });
  await expect(asked).rejects.toThrow(
    "There is no scenario 'speed': use synchronous-requests, streams, footprint, ",
  );
});
