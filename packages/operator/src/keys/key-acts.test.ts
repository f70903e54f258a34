import { expect, it } from 'vitest';
import type { AskedAct } from '../audit/audit.ts';
import { KeyActs } from './key-acts.ts';
import type { StoredKeyChanges } from './stored-key-changes.ts';

it.each([
  ['key_4fT9', 'key_4fT9'],
  ['file:3', 'file:3'],
  ['development', 'development'],
  ['sk-sluice-secret', 'not the id of a key'],
  ['development-key', 'not the id of a key'],
])('writes down for the revocation of %s that it was asked for %s', async (id, target) => {
  const asked: AskedAct[] = [];
  const unused = () => Promise.reject(new Error('nobody calls it'));
  const changes: Pick<StoredKeyChanges, 'create' | 'revoke' | 'limit'> = {
    create: unused,
    limit: unused,
    revoke: (revoked) =>
      Promise.resolve({
        object: 'revoked_key',
        id: revoked,
        tenant: 'team',
        revoked_at: 0,
        is_safe: true,
      }),
  };
  const acts = new KeyActs({
    changes,
    audit: {
      perform: (act, step) => {
        asked.push(act);
        return step();
      },
    },
  });
  await acts.revoke(id, { address: '127.0.0.1' });
  expect(asked).toEqual([{ action: 'key.revoke', target, address: '127.0.0.1' }]);
});
