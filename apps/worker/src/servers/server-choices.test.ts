import { expect, it } from 'vitest';
import { type Policy, ServerSimulation } from '../../test/simulate-servers.ts';

const run = (policy: Policy, callsPerSecond = 50) =>
  new ServerSimulation({ policy, seed: 1, calls: 4_000, callsPerSecond }).run();
const shareOf = ({ hits, blocks }: { hits: number; blocks: number }) => hits / blocks;

it('finds nine tenths of what one cache would have, and gives no server more than 1.25 of its share', () => {
  const ours = run('ours');
  expect(shareOf(ours)).toBeGreaterThan(0.9 * shareOf(run('single')));
  expect(shareOf(ours)).toBeGreaterThan(1.4 * shareOf(run('least loaded')));
  expect(ours.mostOfCalls).toBeLessThanOrEqual(1.25);
  expect(ours.knownlyOver).toBe(0);
}, 60_000);

it.each([1, 5, 20])(
  'finds nine tenths where servers have few calls, too: at %i calls a second',
  (callsPerSecond) => {
    const ours = run('ours', callsPerSecond);
    expect(shareOf(ours)).toBeGreaterThan(0.9 * shareOf(run('single', callsPerSecond)));
    if (callsPerSecond > 1) expect(ours.mostOfCalls).toBeLessThanOrEqual(1.25);
    expect(ours.knownlyOver).toBe(0);
  },
  60_000,
);
