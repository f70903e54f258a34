import { describe, expect, it } from 'vitest';
import type { Company, Watched } from './beside-backlog.ts';
import { releasesLater, waitPicture } from './waits-report.ts';

const model = { serviceMs: 300, slots: 20, tokens: 1 };

/** A round in which the upstream took 320 ms for a request, so that a slot was released every 16 ms. */
const round: Watched = { sent: [], log: [{ tag: 'a-0', at: 0, endedAt: 320 }], until: 1000 };

const watched = new Map<Company, Watched[]>([
  ['alone', [round, round]],
  ['beside the backlog', [round, round]],
]);

describe('releasesLater', () => {
  it('compares the rounds one by one, by the releases that the upstream had', () => {
    const waits = new Map<Company, number[][]>([
      ['alone', [[10], [20]]],
      ['beside the backlog', [[42], [84]]],
    ]);
    expect(releasesLater(waits, watched, { share: 0.99, model })).toEqual([2, 4]);
  });
});

describe('waitPicture', () => {
  it('has a curve for each company', () => {
    const waits = new Map<Company, number[][]>([
      ['alone', [[10, 20]]],
      ['beside the backlog', [[30, 40]]],
    ]);
    const { svg } = waitPicture('a.svg', 'Waits', waits);
    expect(svg.match(/<path class="line s\d" d="M[^"h]+L/g)).toHaveLength(2);
  });
});
