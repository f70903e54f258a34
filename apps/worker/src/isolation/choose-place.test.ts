import { describe, expect, it } from 'vitest';
import { choosePlace, type Place } from './choose-place.ts';

const shared = (size: number): Place => ({ runs: { size }, isTaken: false, tenant: 'one' });
const taken = (tenant = 'one'): Place => ({ runs: { size: 1 }, isTaken: true, tenant });
const among = { tenant: 'one', mustBeAlone: false, dying: 0 };
const alone = { tenant: 'one', mustBeAlone: true, dying: 0 };

describe('the place of a suspect', () => {
  it('is one where nothing runs, if there may be one', () => {
    const free = shared(0);
    expect(choosePlace([], among)).toBe('new');
    expect(choosePlace([shared(1), free], among)).toBe(free);
    expect(choosePlace([shared(1), shared(1)], among)).toBe('new');
  });

  it('is beside the fewest when every process has something to do', () => {
    const fewest = shared(2);
    expect(choosePlace([shared(5), fewest, shared(3), taken()], among)).toBe(fewest);
  });

  it('counts the processes that are dying', () => {
    const only = shared(4);
    expect(choosePlace([only], { ...among, dying: 3 })).toBe(only);
    expect(choosePlace([], { ...alone, dying: 4 })).toBeUndefined();
  });

  it('is spread over four processes', () => {
    const places: { runs: { size: number }; isTaken: boolean; tenant: string }[] = [];
    for (let nth = 0; nth < 64; nth += 1) {
      const place = choosePlace(places, among);
      if (place === 'new') places.push({ runs: { size: 1 }, isTaken: false, tenant: 'one' });
      else if (place) place.runs.size += 1;
    }
    expect(places.map(({ runs }) => runs.size)).toEqual([16, 16, 16, 16]);
  });

  it('is never beside one that has to be alone', () => {
    expect(choosePlace([taken(), taken(), taken(), taken()], among)).toBeUndefined();
    expect(choosePlace([shared(1), shared(1), shared(1), shared(1)], alone)).toBeUndefined();
    const free = { runs: { size: 0 }, isTaken: true, tenant: 'one' };
    expect(choosePlace([taken(), free], alone)).toBe(free);
  });

  it('is left for others by those that have to be alone', () => {
    expect(choosePlace([taken(), taken('two')], alone)).toBe('new');
    expect(choosePlace([taken(), taken('two'), taken('three')], alone)).toBeUndefined();
    expect(choosePlace([taken(), taken(), taken()], among)).toBe('new');
  });

  it('is left for the suspects of another tenant by those of one', () => {
    expect(choosePlace([taken(), taken()], alone)).toBeUndefined();
    expect(choosePlace([taken(), taken()], { ...alone, tenant: 'two' })).toBe('new');
  });
});
