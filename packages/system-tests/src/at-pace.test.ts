import { latch } from '@sluice/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { atPace, inTurn } from './at-pace.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('tells of a stall to each that was due meanwhile', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const over = latch();
  let asked = 0;
  const ask = async () => {
    asked += 1;
    if (asked === 1) now = 35;
    if (asked === 4) over.open();
  };
  expect(await atPace(ask, { everyMs: 10, until: over.wait() })).toEqual([35, 25, 15, 5]);
});

it('asks on while there is no answer', async () => {
  const answered = latch();
  let asked = 0;
  const ask = () => {
    asked += 1;
    if (asked === 5) answered.open();
    return answered.wait();
  };
  const times = await atPace(ask, { everyMs: 1, until: answered.wait() });
  expect(times).toHaveLength(asked);
});

it('asks in turn, each from when it is sent', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const over = latch();
  let asked = 0;
  const ask = async () => {
    asked += 1;
    now += asked === 1 ? 35 : 5;
    if (asked === 3) over.open();
  };
  expect(await inTurn(ask, { everyMs: 1, until: over.wait() })).toEqual([35, 5, 5]);
});
