import { describe, expect, it } from 'vitest';
import { actEffect, actFilter, actLabel, actPart } from './act-filter.ts';

describe('an act on all that a list shows', () => {
  it('takes what it is for, where no status is asked for', () => {
    const filter = { tenant: ['acme'] };
    expect(actFilter('retry', filter)).toEqual({ tenant: ['acme'], status: ['failed', 'cancelled'] });
    expect(actFilter('cancel', filter)).toEqual({ tenant: ['acme'], status: ['queued', 'in_progress'] });
    expect(actPart('retry', filter)).toBe('that failed or were cancelled');
    expect(actLabel('retry', filter)).toBe('Retry those that failed or were cancelled');
    expect(actEffect('retry', filter)).toContain('Completed and incomplete ones are left alone');
  });

  it('takes the statuses that are asked for as they are', () => {
    const filter = { status: ['incomplete' as const] };
    expect(actFilter('retry', filter)).toEqual(filter);
    expect(actFilter('cancel', filter)).toEqual(filter);
    expect(actPart('retry', filter)).toBeUndefined();
    expect(actEffect('retry', filter)).not.toContain('ompleted ones');
  });

  it('says that completed ones are created again, when they are asked for', () => {
    const filter = { status: ['failed' as const, 'completed' as const] };
    expect(actLabel('retry', filter)).toContain('completed ones too');
    expect(actEffect('retry', filter)).toContain('Completed ones are, too');
    expect(actLabel('cancel', filter)).toBe('Cancel those that have not ended');
  });
});
