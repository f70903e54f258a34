import { createLogger } from '@sluice/runtime';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { JoinedPauses, type JoinedPausesOptions } from './joined-pauses.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The pauses of a cell and of the first one, in a process that has just learned of the cell. */
function joinedPauses(given: { first?: string[]; own?: string[] }) {
  const cell = {
    first: new Set(given.first),
    own: new Set(given.own),
    isAway: false,
    state: 'draining' as ReturnType<JoinedPausesOptions['state']>,
  };
  const inOwn = async <Answer>(act: () => Answer) => {
    await Promise.resolve();
    if (cell.isAway) throw new Error('Connection is closed.');
    return act();
  };
  const pauses = new JoinedPauses({
    first: { pausedNames: () => Promise.resolve([...cell.first]) },
    own: {
      pausedNames: () => inOwn(() => [...cell.own]),
      pause: (name) => inOwn(() => void cell.own.add(name)),
      resume: (name) => inOwn(() => void cell.own.delete(name)),
    },
    state: () => cell.state,
    logger: createLogger({ name: 'api', level: 'silent' }),
  });
  return { cell, pauses };
}

/** Lets all looks pass that are due in some time. */
const looks = () => vi.advanceTimersByTimeAsync(10_000);

it('pauses in a cell what is paused in the first one, once both are there, and resumes nothing', async () => {
  const { cell, pauses } = joinedPauses({ first: ['q'], own: ['old'] });
  cell.state = 'open';
  cell.isAway = true;
  pauses.start();
  await looks();
  cell.isAway = false;
  await looks();
  expect([...cell.own]).toEqual(['old', 'q']);
  expect([...cell.first]).toEqual(['q']);
  await looks();
  expect(vi.getTimerCount()).toBe(0);
});

it('takes over what is paused and resumed while a cell joins, until it is open', async () => {
  const { cell, pauses } = joinedPauses({ first: ['q'] });
  pauses.start();
  cell.state = 'joining';
  await looks();
  expect([...cell.own]).toEqual(['q']);
  cell.first = new Set(['m']);
  await looks();
  expect([...cell.own]).toEqual(['m']);
  // A process that has not heard of the opening yet tells the first cell alone, and may end then.
  cell.state = 'opening';
  await looks();
  cell.first = new Set(['n']);
  await looks();
  expect([...cell.own]).toEqual(['n']);
  cell.first = new Set(['o']);
  cell.state = 'open';
  await looks();
  expect([...cell.own]).toEqual(['o']);
  expect(vi.getTimerCount()).toBe(0);
});

it('ends with its process while a cell joins', async () => {
  const { cell, pauses } = joinedPauses({});
  pauses.start();
  cell.state = 'joining';
  await looks();
  pauses.stop();
  cell.first = new Set(['q']);
  await looks();
  expect([...cell.own]).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
