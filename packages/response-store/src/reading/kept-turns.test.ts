import { expect, it } from 'vitest';
import { type KeptTurn, KeptTurns } from './kept-turns.ts';

function turn(responseId: string, { tenant = 'a', inputBytes = 1_000 } = {}): KeptTurn {
  const sizes = { inputBytes, endBytes: 0, largeBytes: 0, requestAhead: 0 };
  return { responseId, tenant, previousId: undefined, items: [], ...sizes };
}

it('takes no more memory than it may, and forgets first what was not used for longest', () => {
  const kept = new KeptTurns(() => 10_000);
  for (const id of ['1', '2', '3']) kept.keep(turn(id));
  kept.find('1', 'a');
  kept.keep(turn('4'));
  expect(kept.bytes).toBeLessThanOrEqual(10_000);
  expect(['1', '2', '3', '4'].map((id) => kept.find(id, 'a')?.responseId)).toEqual([
    '1',
    undefined,
    '3',
    '4',
  ]);
});

it('counts a turn that it is given again once', () => {
  const kept = new KeptTurns(() => 10_000);
  kept.keep(turn('1'));
  const { bytes } = kept;
  kept.keep(turn('1'));
  expect(kept.bytes).toBe(bytes);
  kept.drop('1');
  expect(kept.bytes).toBe(0);
});

it('finds the turns of a tenant for that tenant alone', () => {
  const kept = new KeptTurns(() => 10_000);
  kept.keep(turn('1', { tenant: 'a' }));
  expect(kept.find('1', 'b')).toBeUndefined();
  expect(kept.find('1', 'a')).toBeDefined();
});

it('takes no turn that is long', () => {
  const kept = new KeptTurns(() => 10_000_000);
  kept.keep(turn('1', { inputBytes: 300_000 }));
  expect(kept.isEmpty).toBe(true);
});

it('keeps nothing by default', () => {
  const kept = new KeptTurns();
  kept.keep(turn('1'));
  expect([kept.isEmpty, kept.bytes]).toEqual([true, 0]);
});
