// For the type of `redisUrl`.
import type {} from '@sluice/testing';
import { bundleCommand } from '@sluice/testing';
import { beforeAll, expect, inject, it } from 'vitest';
import { runBench } from '../src/run-bench.ts';

const progress = { say: () => undefined, clear: () => undefined };

beforeAll(bundleCommand);

it('writes a page with figures of the built apps', async () => {
  const { page } = await runBench({
    quick: true,
    scenarios: ['backlog'],
    gateways: [],
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
  expect(page).toContain('`response:<response>`');
  expect(page).toContain(`Node ${process.version.slice(1)}`);
});

it('draws what the scenarios with goals have measured', async () => {
  const { page, pictures } = await runBench({
    quick: true,
    scenarios: ['burst'],
    gateways: [],
    profile: undefined,
    redisUrl: inject('redisUrl'),
    progress,
  });
  const goal = (what: string) => page.split('\n').find((line) => line.startsWith(`| ${what}`));
  expect(goal('responses lost')).toMatch(/\| 0\.00 \(0\.00\.\.0\.00\) \| yes \|$/);
  expect(goal('requests that the upstream saw twice')).toMatch(/\| yes \|$/);
  for (const { file, svg } of pictures) {
    expect(page).toContain(`(pictures/${file})`);
    expect(svg).toMatch(/<path class="line s0" d="M[\d. L]+"/);
  }
  expect(pictures.map(({ file }) => file)).toEqual(['burst-memory.svg', 'burst-drain.svg']);
});

it('names the scenarios there are when asked for another', async () => {
  const asked = runBench({
    quick: true,
    scenarios: ['speed'],
    gateways: [],
    profile: undefined,
    redisUrl: inject('redisUrl'),
    progress,
  });
  await expect(asked).rejects.toThrow(
    "There is no scenario 'speed': use synchronous-requests, streams, websocket, footprint, ",
  );
});
