import { eventually, forEachTest, testRedis } from '@sluice/testing';
import { expect, onTestFinished, test } from 'vitest';
import { ContentSealer, SealingKeys, type SealingKeysOptions } from '../src/sealed-content/index.ts';

const redis = forEachTest(testRedis);

async function startKeys(options: Partial<SealingKeysOptions> = {}): Promise<SealingKeys> {
  const keys = new SealingKeys({
    connection: redis.client,
    keyPrefix: `${redis.prefix}:`,
    secrets: [],
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  await keys.start();
  onTestFinished(() => keys.stop());
  return keys;
}

const sealerOf = (keys: SealingKeys) => new ContentSealer(keys.all, 't');
const keyName = () => `${redis.prefix}:sealing-key`;

test('processes that start together agree on one key, and so does one that starts later', async () => {
  const together = await Promise.all([startKeys(), startKeys(), startKeys()]);
  const later = await startKeys();
  for (const keys of [...together, later]) expect(keys.all).toEqual(later.all);
  expect(later.all).toHaveLength(1);
  expect(await redis.client.ttl(keyName())).toBe(-1);
});

test("with keys of the operator nothing is made in Redis, and the service's own still opens", async () => {
  await startKeys({ secrets: ['configured'] });
  expect(await redis.client.exists(keyName())).toBe(0);
  const own = await startKeys();
  const sealed = sealerOf(own).sealCompaction('before') ?? '';
  const configured = await startKeys({ secrets: ['configured'] });
  expect(sealerOf(configured).openCompaction(sealed)).toBe('before');
  expect(sealerOf(own).openCompaction(sealerOf(configured).sealCompaction('after') ?? '')).toBeUndefined();
});

test('a key that Redis has lost is put back by a process that has it', async () => {
  const keys = await startKeys({ lookEveryMs: 20 });
  const sealed = sealerOf(keys).sealCompaction('kept') ?? '';
  await redis.client.del(keyName());
  await eventually(async () => expect(await redis.client.exists(keyName())).toBe(1));
  expect(sealerOf(await startKeys()).openCompaction(sealed)).toBe('kept');
});

test('a process seals with the key that another has put in place, and still opens with its own', async () => {
  const keys = await startKeys({ lookEveryMs: 20 });
  const sealed = sealerOf(keys).sealCompaction('kept') ?? '';
  await redis.client.set(keyName(), 'of another process');
  await eventually(() => expect(keys.all).toHaveLength(2));
  const other = await startKeys();
  expect(sealerOf(other).openCompaction(sealerOf(keys).sealCompaction('new') ?? '')).toBe('new');
  expect(sealerOf(keys).openCompaction(sealed)).toBe('kept');
});

test('a process that starts while the first cell is away takes the copy of another cell', async () => {
  const copies = () => [{ connection: redis.client, keyPrefix: `${redis.prefix}:copy:` }];
  const sealed = sealerOf(await startKeys({ copies })).sealCompaction('kept') ?? '';
  const away = {
    get: () => Promise.reject(new Error('Connection is closed.')),
    set: () => Promise.reject(new Error('Connection is closed.')),
  } as unknown as SealingKeysOptions['connection']; // it has no other commands
  expect(sealerOf(await startKeys({ connection: away, copies })).openCompaction(sealed)).toBe('kept');
  const none = [{ connection: redis.client, keyPrefix: `${redis.prefix}:none:` }];
  await expect(startKeys({ connection: away, copies: () => none })).rejects.toThrow('Connection is closed.');
});

test('a process that starts when the first cell has lost its data puts the copy of another cell back', async () => {
  const copies = () => [{ connection: redis.client, keyPrefix: `${redis.prefix}:copy:` }];
  const before = await startKeys({ copies });
  const sealed = sealerOf(before).sealCompaction('kept') ?? '';
  await redis.client.del(keyName());
  const configured = await startKeys({ copies, secrets: ['configured'] });
  expect(sealerOf(configured).openCompaction(sealed)).toBe('kept');
  expect(await redis.client.exists(keyName())).toBe(0);
  const after = await startKeys({ copies });
  expect(after.all).toEqual(before.all);
  expect((await startKeys()).all).toEqual(before.all);
});
