import { describe, expect, it } from 'vitest';
import { KeptSample } from './kept-sample.ts';

describe('the sample of completed jobs', () => {
  it('is all of them while they come slowly', () => {
    const sample = new KeptSample();
    for (let at = 0; at < 200; at += 1) expect(sample.keeps(at * 60)).toBe(true);
  });

  it('is some of each second when they come fast', () => {
    const sample = new KeptSample();
    const kept = Array.from({ length: 10_000 }, (_, at) => sample.keeps(at)).filter(Boolean);
    expect(kept).toHaveLength(200);
  });
});
