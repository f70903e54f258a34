import { describe, expect, it } from 'vitest';
import { ReaderRoom } from './reader-room.ts';

function roomOf(requestBytes: number) {
  const asked: number[] = [];
  const held = { now: 0 };
  const room = new ReaderRoom((bytes) => {
    asked.push(bytes);
    held.now += bytes;
    return Promise.resolve(() => void (held.now -= bytes));
  }, requestBytes);
  return { room, asked, held };
}

describe('the room of a reader', () => {
  it('holds a large request with the first part, and not again while that is held', async () => {
    const { room, asked, held } = roomOf(10);
    const [freeFirst, freeSecond] = [await room.holdPart(100), await room.holdPart(200)];
    const freeRequest = await room.holdRequest();
    expect(asked).toEqual([110, 200]);
    freeRequest();
    freeFirst();
    expect(held.now).toBe(200);
    freeSecond();
    // No part is held with it any more.
    await room.holdRequest();
    await room.holdPart(100);
    expect(asked.slice(2)).toEqual([10, 110]);
  });

  it('holds parts alone while no request is large, and nothing beside what others hold', async () => {
    const { room, asked } = roomOf(0);
    await room.holdPart(100);
    (await room.holdBeside(0))();
    expect(asked).toEqual([100]);
    await room.holdBeside(7);
    expect(asked).toEqual([100, 7]);
  });

  it('holds a large request beside an end that others hold', async () => {
    const { room, asked } = roomOf(10);
    const free = await room.holdBeside(7);
    expect([asked, room.isRequestHeld]).toEqual([[17], true]);
    await room.holdRequest();
    free();
    expect([asked, room.isRequestHeld]).toEqual([[17], false]);
  });

  it('holds the request by itself after a part for which there was no room', async () => {
    let hasRoom = false;
    const asked: number[] = [];
    const room = new ReaderRoom((bytes) => {
      asked.push(bytes);
      return hasRoom ? Promise.resolve(() => undefined) : Promise.reject(new Error('no room'));
    }, 10);
    await expect(room.holdPart(100)).rejects.toThrow('no room');
    hasRoom = true;
    await room.holdRequest();
    expect(asked).toEqual([110, 10]);
  });
});
