import { expect, it } from 'vitest';
import { sendAhead } from './send-ahead.ts';

/** As much of a store as is needed; a key can be lost between two pieces. */
function storeOf(lostAt = Number.POSITIVE_INFINITY) {
  const values = new Map<string, Buffer>();
  const pieces: number[] = [];
  const redis = {
    set: (key: string, value: Buffer) => {
      pieces.push(value.length);
      values.set(key, value);
      return Promise.resolve('OK');
    },
    append: (key: string, piece: Buffer) => {
      if (pieces.length === lostAt) values.delete(key);
      pieces.push(piece.length);
      const value = Buffer.concat([values.get(key) ?? Buffer.alloc(0), piece]);
      values.set(key, value);
      return Promise.resolve(value.length);
    },
    unlink: (key: string) => Promise.resolve(Number(values.delete(key))),
  };
  // Of the overloads of each command, those that are used.
  return { values, pieces, redis: redis as unknown as Parameters<typeof sendAhead>[0] };
}

it('sends an input in pieces that hold up nobody', async () => {
  const input = Buffer.alloc(3_000_000, 'abc');
  for (const each of [input, input.toString()]) {
    const store = storeOf();
    await sendAhead(store.redis, 'k', each);
    expect(store.values.get('k')?.equals(input)).toBe(true);
    expect(Math.max(...store.pieces)).toBeLessThanOrEqual(512 * 1024);
  }
});

it('leaves nothing of an input that was lost in between', async () => {
  const store = storeOf(3);
  await expect(sendAhead(store.redis, 'k', Buffer.alloc(3_000_000))).rejects.toThrow('lost');
  expect(store.values.size).toBe(0);
});
