import type { CellRow } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { actsOf, noteOf } from './cell-state.ts';

const row = (change: Partial<CellRow> = {}): CellRow => ({
  cell: 'E',
  address: 'redis://***@two:6379',
  origin: 'stored',
  state: 'open',
  open: 0,
  waiting: 0,
  used_memory_bytes: 1_048_576,
  may_go_at: null,
  waits_for: [],
  ...change,
});
const first = row({ cell: '0', origin: 'settings' });
const soon = '2026-11-26T12:00:00.000Z';

describe('what can be done with a cell', () => {
  const acts = (change: Partial<CellRow>, others: readonly CellRow[] = [first]) => {
    const shown = row(change);
    return actsOf(shown, [...others, shown]);
  };

  it('is draining while it is not the only one that takes new responses', () => {
    expect(acts({})).toEqual(['drain']);
    expect(acts({}, [])).toEqual([]);
    expect(acts({}, [row({ cell: '0', state: 'draining' }), row({ cell: 's', state: 'joining' })])).toEqual(
      [],
    );
  });

  it('is opening while it drains, and removing when it was added', () => {
    expect(acts({ state: 'draining', may_go_at: soon })).toEqual(['open', 'remove']);
    expect(acts({ state: 'draining', may_go_at: soon, origin: 'settings' })).toEqual(['open']);
    expect(acts({ state: 'joining' })).toEqual(['remove']);
  });

  it('is the same while it is away', () => {
    expect(acts({ state: 'away' })).toEqual(['drain']);
    expect(acts({ state: 'away', may_go_at: soon })).toEqual(['open', 'remove']);
  });

  it('is nothing without an address', () => {
    expect(acts({ state: 'unknown', origin: null, address: null, may_go_at: soon })).toEqual([]);
  });
});

describe('the note of a cell', () => {
  it('names the processes that have not reached it', () => {
    expect(noteOf(row({ state: 'joining', waits_for: ['api 7 on a', 'worker 8 on b'] }))).toEqual({
      tone: 'info',
      text: 'The cell E waits to be reached by api 7 on a, worker 8 on b.',
    });
  });

  it('says what to do about one without an address, and that one is away', () => {
    expect(noteOf(row({ state: 'unknown' }))?.text).toContain('sluice cells forget E');
    expect(noteOf(row({ state: 'away' }))?.text).toContain('does not answer');
  });

  it('is left out of one that is as it should be', () => {
    expect([row(), row({ state: 'draining' }), row({ state: 'joining' })].map(noteOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
