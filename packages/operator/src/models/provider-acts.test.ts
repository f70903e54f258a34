import { StoredRefusal } from '@sluice/config';
import { expect, it } from 'vitest';
import { ProviderActs } from './provider-acts.ts';
import { providerRows } from './provider-rows.ts';

const stored = {
  id: 'house',
  type: 'openai-chat' as const,
  baseUrl: 'http://10.0.0.1/v1',
  apiKeyVariable: 'UPSTREAM_HOUSE',
};
const complete = {
  headers: {},
  resolve: false,
  fetchesUrls: false,
  discover: false,
  discovery: { everyMs: 1, keepMs: 1 },
  pressure: { adaptive: true, floor: 1 },
  cacheControl: false,
};
const inEffect = {
  models: [
    { id: 'a', queue: 'a', routes: [{ provider: 'house', model: 'a' }] },
    { id: 'b', queue: 'b', routes: [{ provider: 'filed', model: 'b' }] },
  ],
  providers: [
    {
      ...{ ...complete, id: 'filed', type: 'openai-chat' as const, baseUrl: 'http://10.0.0.2/v1' },
      ...{ apiKey: 'sk-secret-1', headers: { 'x-key': 'sk-secret-2' } },
    },
    { ...complete, ...stored, apiKey: 'sk-secret-3' },
  ],
  storedProvider: (id: string) => (id === 'house' ? stored : undefined),
  unusableProviders: [],
};

it('rows of providers say where each is from and called, and show no secret', () => {
  const rows = providerRows(inEffect);
  expect(rows).toMatchObject([
    { id: 'filed', origin: 'file', servers: ['http://10.0.0.2/v1'], key_variable: null, settings: null },
    { id: 'house', origin: 'stored', key_variable: 'UPSTREAM_HOUSE', models: 1, settings: stored },
  ]);
  expect(JSON.stringify(rows)).not.toContain('sk-secret');
});

it('an act is in the audit log with the address that the provider has from then on', async () => {
  const written: unknown[] = [];
  const acts = new ProviderActs({
    models: inEffect,
    providerChanges: {
      add: () => Promise.resolve(stored),
      change: () => Promise.resolve({ id: 'sim', type: 'simulator' }),
      remove: () => Promise.reject(new StoredRefusal('in_use', [{ path: ['id'], message: 'is used' }])),
    },
    audit: {
      perform: async (about, step, detail) => {
        const result = await step();
        written.push([about.action, about.target, detail?.(result)]);
        return result;
      },
    },
  });
  const asker = { address: '127.0.0.1' };
  expect(await acts.add(stored, asker)).toEqual({ object: 'stored_provider', id: 'house', settings: stored });
  await acts.change('sim', { seed: 2 }, asker);
  await expect(acts.remove('house', asker)).rejects.toMatchObject({ code: 'invalid_value', param: 'id' });
  expect(written).toEqual([
    ['provider.add', 'house', 'http://10.0.0.1/v1'],
    ['provider.change', 'sim', 'simulator'],
  ]);
});
