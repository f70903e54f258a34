import type { KeyReport } from '@sluice/contract/admin';
import { expect, it } from 'vitest';
import { keyOptions, keyRows } from './key-rows.ts';

function key(id: string | null, given: Partial<KeyReport> = {}): KeyReport {
  return {
    ...{ id, tenant: 'acme', ends_with: id === null ? null : `x${id.slice(-1)}zz` },
    ...{ origin: id === null ? 'file' : 'stored', state: 'active', models: ['*'] },
    ...{ created_at: id === null ? null : 1, expires_at: null, revoked_at: null },
    ...given,
  };
}
const ids = (rows: KeyReport[]) => rows.map(({ id }) => id);
const keys = [
  key('key_1', { state: 'revoked', created_at: 9 }),
  key('key_2', { tenant: 'бюро' }),
  key('key_3', { created_at: 5 }),
  key(null),
  key(null, { tenant: 'бюро' }),
];

it('puts active keys first, those of the file before the newest', () => {
  expect(ids(keyRows(keys, {}))).toEqual([null, null, 'key_3', 'key_2', 'key_1']);
});

it('narrows by tenant, state, and any part of the id, the tenant or the last characters', () => {
  expect(ids(keyRows(keys, { tenant: ['бюро'] }))).toEqual([null, 'key_2']);
  expect(ids(keyRows(keys, { state: ['revoked'] }))).toEqual(['key_1']);
  expect(ids(keyRows(keys, { q: ['X3Z'] }))).toEqual(['key_3']);
  expect(ids(keyRows(keys, { q: ['KEY_2'] }))).toEqual(['key_2']);
});

it('counts the values of a field, most first', () => {
  expect(keyOptions(keys, 'tenant')).toEqual([
    { value: 'acme', count: 3 },
    { value: 'бюро', count: 2 },
  ]);
  expect(keyOptions(keys, 'state')[0]).toEqual({ value: 'active', label: 'Active', count: 4 });
});
