import type { ProviderRow } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import {
  emptyProvider,
  newProvider,
  providerChange,
  providerFieldOf,
  providerFormOf,
} from './provider-form.ts';

const row: ProviderRow = {
  id: 'house',
  origin: 'stored',
  type: 'openai-chat',
  servers: ['http://10.0.0.1/v1'],
  key_variable: 'UPSTREAM_HOUSE',
  discover: false,
  models: 0,
  settings: null,
};

describe('the form of a provider', () => {
  it('says what a stored provider is, and changes nothing as it stands', () => {
    const form = providerFormOf(row);
    expect(form).toMatchObject({ servers: 'http://10.0.0.1/v1', apiKeyVariable: 'UPSTREAM_HOUSE' });
    expect(providerChange(form, form)).toBeUndefined();
  });

  it('changes what differs, and takes away what was emptied', () => {
    const before = providerFormOf(row);
    const now = { ...before, servers: 'http://10.0.0.1/v1\n http://10.0.0.2/v1\n', apiKeyVariable: ' ' };
    expect(providerChange(before, now)).toEqual({
      baseUrl: null,
      replicas: ['http://10.0.0.1/v1', 'http://10.0.0.2/v1'],
      apiKeyVariable: null,
    });
    expect(providerChange(before, { ...before, discover: true })).toEqual({ discover: true });
  });

  it('makes a provider of what is typed', () => {
    const form = { ...emptyProvider, id: ' a ', servers: ' http://10.0.0.1/v1 ' };
    expect(newProvider(form)).toEqual({ id: 'a', type: 'openai-chat', baseUrl: 'http://10.0.0.1/v1' });
    expect(newProvider({ ...form, type: 'simulator', discover: true })).toEqual({
      id: 'a',
      type: 'simulator',
    });
  });

  it('finds the field that a refusal names', () => {
    expect(['replicas[1]', 'baseUrl', 'apiKeyVariable', 'resolve', null].map(providerFieldOf)).toEqual([
      'servers',
      'servers',
      'apiKeyVariable',
      undefined,
      undefined,
    ]);
  });
});
