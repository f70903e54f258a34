import { latch } from '@sluice/testing';
import { expect, it } from 'vitest';
import { LargeWrites } from './large-writes.ts';

function setUp() {
  const writes = new LargeWrites();
  const order: string[] = [];
  let running = 0;
  let most = 0;
  const write = (tenant: string, name = tenant) =>
    writes.run({ id: 'response_0', tenant }, async () => {
      running += 1;
      most = Math.max(most, running);
      order.push(name);
      await Promise.resolve();
      running -= 1;
      return name;
    });
  return { writes, write, order, mostAtOnce: () => most };
}

it('writes large answers one at a time, and tenants take turns', async () => {
  const { writes, write, order, mostAtOnce } = setUp();
  const held = latch();
  const first = writes.run({ id: 'response_0', tenant: 'hostile' }, () => held.wait());
  const hostile = Array.from({ length: 5 }, (_, at) => write('hostile', `hostile ${at}`));
  const quiet = [write('quiet', 'quiet 0'), write('quiet', 'quiet 1')];
  held.open();
  await Promise.all([first, ...hostile, ...quiet]);
  expect(order).toEqual([
    'hostile 0',
    'quiet 0',
    'hostile 1',
    'quiet 1',
    'hostile 2',
    'hostile 3',
    'hostile 4',
  ]);
  expect(mostAtOnce()).toBe(1);
});

it('holds up no large answer of another cell', async () => {
  const { writes } = setUp();
  const held = latch();
  const silent = writes.run({ id: 'response_E1', tenant: 'a' }, () => held.wait());
  expect(await writes.run({ id: 'response_01', tenant: 'a' }, () => Promise.resolve('written'))).toBe(
    'written',
  );
  held.open();
  await silent;
});

it('goes on after one that failed', async () => {
  const { writes, write } = setUp();
  const failed = writes.run({ id: 'response_0', tenant: 'a' }, () => Promise.reject(new Error('no')));
  const after = write('b');
  await expect(failed).rejects.toThrow('no');
  expect(await after).toBe('b');
  expect(await write('a')).toBe('a');
});
