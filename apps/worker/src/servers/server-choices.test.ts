import { expect, it } from 'vitest';
import { type Policy, ServerSimulation } from '../../test/simulate-servers.ts';

const run = (policy: Policy) => new ServerSimulation({ policy, seed: 1, calls: 4_000 }).run();
const shareOf = ({ hits, blocks }: { hits: number; blocks: number }) => hits / blocks;

it('finds nine tenths of what one cache would have, and gives no server more than 1.25 of its share', () => {
  const ours = run('ours');
  expect(shareOf(ours)).toBeGreaterThan(0.9 * shareOf(run('single')));
  expect(shareOf(ours)).toBeGreaterThan(1.4 * shareOf(run('least loaded')));
  expect(ours.mostOfCalls).toBeLessThanOrEqual(1.25);
  expect(ours.knownlyOver).toBe(0);
}, 60_000);
