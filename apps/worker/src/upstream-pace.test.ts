import { within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { OutputBudget } from './output-budget.ts';
import { OutputMeter } from './output-meter.ts';
import { chunksPerSlice, TurnBudget } from './turn-budget.ts';
import { UpstreamPace } from './upstream-pace.ts';

const silent = { hasOutput: false };

function setUp({ outputEvents = 1_000, bytes = 1_000_000 } = {}) {
  const budget = new OutputBudget({ bytes, freeBytes: 1_000 });
  const share = budget.open('tenant');
  const meter = new OutputMeter({ outputBytes: 1_000, outputItems: 10, outputEvents }, 'up');
  const { signal } = new AbortController();
  const pace = new UpstreamPace({ turns: new TurnBudget(), meter, share, signal });
  return { budget, share, meter, pace };
}

/** How many of as many steps are followed by a turn. */
async function turnsIn(steps: number, step: () => Promise<void> | undefined): Promise<number> {
  let turns = 0;
  for (let at = 0; at < steps; at += 1) {
    const turn = step();
    if (!turn) continue;
    await within(turn);
    turns += 1;
  }
  return turns;
}

function thrownBy(step: () => unknown): unknown {
  try {
    step();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('the pace of an upstream', () => {
  it('gives a turn after as many events without output as after chunks', async () => {
    const { pace } = setUp();
    const events = 10 * chunksPerSlice;
    expect(await turnsIn(events, () => pace.took(0, silent))).toBe(10);
    expect(await turnsIn(events, () => pace.tookChunk())).toBe(10);
  });

  it('takes no more turns for the events of an ordinary answer', async () => {
    const { pace } = setUp();
    const step = () => pace.took(0, { hasOutput: true }) ?? pace.tookChunk();
    expect(await turnsIn(10 * chunksPerSlice, step)).toBe(10);
  });

  it('gives a turn after a long event', async () => {
    const { pace } = setUp();
    expect(await turnsIn(5, () => pace.took(1024 * 1024, silent))).toBe(5);
  });

  it('gives a turn after each read that brings no event', async () => {
    const { pace } = setUp();
    expect(await turnsIn(5, () => pace.readAhead(100, { hasEvents: false }))).toBe(5);
    expect(await turnsIn(5, () => pace.readAhead(100, { hasEvents: true }))).toBe(0);
  });

  it('ends an answer of too many events without output, and says so', () => {
    const { pace } = setUp({ outputEvents: 20 });
    for (let at = 0; at < 20; at += 1) void pace.took(2, silent);
    const failure = thrownBy(() => pace.took(2, silent));
    expect(failure).toMatchObject({
      code: 'upstream_error',
      disposition: 'fail',
      message: "Provider 'up' sent more than 20 events without output.",
      publicMessage: expect.stringContaining('20 events without output'),
      // A tenant may have asked for it, so it says nothing about the upstream.
      fault: undefined,
    });
  });

  it('counts what a reader may keep of events without output', () => {
    const { pace, meter } = setUp();
    for (let at = 0; at < 10; at += 1) void pace.took(500, silent);
    expect(meter.held).toBe(5_000);
  });

  it('reads no further while there is no room', async () => {
    const { budget, pace, share } = setUp({ bytes: 10_000 });
    const other = budget.open('other');
    other.output = 20_000;
    const waits = pace.readAhead(600, { hasEvents: true });
    expect(share.held).toBe(1_200);
    expect(budget.waiting).toBe(1);
    other.close();
    await within(waits ?? Promise.reject(new Error('it did not wait')));
    expect(pace.readAhead(600, { hasEvents: true })).toBeUndefined();
  });
});
