import { forEachLimit, limitNames } from '@sluice/contract/tenant-limits';
import { expect, it } from 'vitest';
import { emptyKeyForm, fieldOfParam, keyRequest, numberOf } from './key-form.ts';

it('asks for what was filled in alone', () => {
  expect(keyRequest({ ...emptyKeyForm, tenant: ' team ' })).toEqual({
    tenant: 'team',
    models: ['*'],
    tiers: ['default', 'flex'],
  });
});

it('sends numbers as numbers, however they were typed', () => {
  const limits = { ...emptyKeyForm.limits, requestsPerMinute: '1,200', concurrent: ' 8 ' };
  const form = {
    ...emptyKeyForm,
    tenant: 't',
    models: ['m'],
    weight: '0.5',
    limits,
    expiresOn: '2027-01-31',
  };
  expect(keyRequest(form)).toEqual({
    tenant: 't',
    models: ['m'],
    tiers: ['default', 'flex'],
    weight: 0.5,
    limits: { requestsPerMinute: 1200, concurrent: 8 },
    expiresAt: '2027-01-31',
  });
});

it('leaves it to the service to refuse what is no number', () => {
  const limits = { ...emptyKeyForm.limits, queued: 'many' };
  expect(keyRequest({ ...emptyKeyForm, limits })).toMatchObject({ limits: { queued: 'many' } });
});

it('finds the field that an error is about', () => {
  expect(fieldOfParam('tenant')).toBe('tenant');
  expect(fieldOfParam('models[2]')).toBe('models');
  expect(fieldOfParam('limits.queuedBytes')).toBe('limits.queuedBytes');
  expect(fieldOfParam('expiresAt')).toBe('expiresAt');
  expect(fieldOfParam('limits')).toBeUndefined();
  expect(fieldOfParam(null)).toBeUndefined();
});

it('has every limit of a tenant, and finds an error at its field', () => {
  const limits = forEachLimit(() => '7');
  expect(keyRequest({ ...emptyKeyForm, limits })).toMatchObject({ limits: forEachLimit(() => 7) });
  for (const name of limitNames) expect(fieldOfParam(`limits.${name}`)).toBe(`limits.${name}`);
});

it('takes thousands that are set apart, and sends a decimal comma as it is', () => {
  expect(['1,200', '1 200 000', '1_200.5', '12', '0.5'].map(numberOf)).toEqual([
    1200, 1_200_000, 1200.5, 12, 0.5,
  ]);
  for (const typed of ['9,99', '0,5', '0,500', '12,5000', '1,200 000', 'much'])
    expect(numberOf(typed)).toBe(typed);
});
