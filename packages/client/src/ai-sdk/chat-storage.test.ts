import { afterEach, expect, it, vi } from 'vitest';
import { pageStorage } from './chat-storage.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

function webStorage({ isFull = false } = {}) {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem(key: string, value: string) {
      if (isFull) throw new DOMException('full', 'QuotaExceededError');
      values.set(key, value);
    },
    removeItem: (key: string) => void values.delete(key),
  };
}

it('keeps a text in the storage of the tab', async () => {
  const session = webStorage();
  vi.stubGlobal('sessionStorage', session);
  await pageStorage().set('a', 'text');
  expect([...session.values]).toEqual([['sluice:chat:a', 'text']]);
  expect(await pageStorage().get('a')).toBe('text');
  await pageStorage().delete('a');
  expect(await pageStorage().get('a')).toBeUndefined();
});

it('goes on without a storage that is full, and forgets what was there', async () => {
  const session = webStorage({ isFull: true });
  session.values.set('sluice:chat:a', 'old');
  vi.stubGlobal('sessionStorage', session);
  await pageStorage().set('a', 'new');
  expect(await pageStorage().get('a')).toBeUndefined();
});

it('uses the storage of the site, or memory, where there is no other', async () => {
  const local = webStorage();
  vi.stubGlobal('sessionStorage', undefined);
  vi.stubGlobal('localStorage', local);
  await pageStorage().set('a', 'text');
  expect(local.values.size).toBe(1);
  vi.stubGlobal('localStorage', undefined);
  const memory = pageStorage();
  await memory.set('a', 'text');
  expect(await memory.get('a')).toBe('text');
});
