import { describe, expect, it } from 'vitest';
import { Pace, pacedModelIn, pacedModelName, releaseMs, tagged, tagIn } from './paced-model.ts';

const model = { serviceMs: 320, slots: 20, tokens: 2 };

describe('a paced model', () => {
  it('is found again in a request by its name', () => {
    const body = JSON.stringify({ model: pacedModelName(model), messages: [] });
    expect(pacedModelIn(body)).toEqual(model);
    expect(pacedModelIn('{"model":"other"}')).toBeUndefined();
  });

  it('releases a slot once for each slot in the time of a request', () => {
    expect(releaseMs(model)).toBe(16);
  });
});

describe('Pace', () => {
  it('keeps the ends of a model apart, however its requests come together', () => {
    const pace = new Pace();
    const ends = [0, 0, 0, 1000].map((at) => pace.endOf(model, at));
    expect(ends).toEqual([320, 336, 352, 1320]);
  });

  it('lets every answer take its own time without slots', () => {
    const pace = new Pace();
    const ends = [0, 0].map((at) => pace.endOf({ ...model, slots: 0 }, at));
    expect(ends).toEqual([320, 320]);
  });
});

describe('a tag', () => {
  it('is found again in the input', () => {
    const body = JSON.stringify({ messages: [{ content: tagged('Say something.', 'light-12') }] });
    expect(tagIn(body)).toBe('light-12');
    expect(tagIn('no tag')).toBeUndefined();
  });
});
