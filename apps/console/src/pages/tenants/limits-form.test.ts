import { forEachOnWire } from '@sluice/contract/tenant-limits';
import { describe, expect, it } from 'vitest';
import { limitsChange, limitsFormOf } from './limits-form.ts';

const form = limitsFormOf({
  weight: 2,
  limits: {
    ...forEachOnWire(() => null),
    requests_per_minute: 600,
    concurrent: 8,
    reads_per_minute: 60_000,
  },
});

describe('the form of the limits of a tenant', () => {
  it('begins with what holds now', () => {
    expect(form.weight).toBe('2');
    expect(form.limits).toMatchObject({ requestsPerMinute: '600', tokensPerMinute: '', concurrent: '8' });
  });

  it('says nothing of what stays as it is', () => {
    expect(limitsChange(form, form)).toBeUndefined();
    expect(limitsChange(form, { ...form, weight: ' 2 ' })).toBeUndefined();
  });

  it('says what is other, and null for what is emptied', () => {
    const limits = { ...form.limits, requestsPerMinute: '1,200', concurrent: ' ', queued: '40' };
    expect(limitsChange(form, { weight: '', limits })).toEqual({
      weight: null,
      limits: { requestsPerMinute: 1200, concurrent: null, queued: 40 },
    });
    expect(limitsChange(form, { ...form, weight: '3' })).toEqual({ weight: 3 });
  });

  it('sends what is no number as it is, for the service to say what is wrong', () => {
    const limits = { ...form.limits, queued: 'many' };
    expect(limitsChange(form, { ...form, limits })).toEqual({ limits: { queued: 'many' } });
  });
});
