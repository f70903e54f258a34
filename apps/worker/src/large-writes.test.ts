import { latch } from '@sluice/testing';
import { expect, it } from 'vitest';
import { LargeWrites } from './large-writes.ts';

function setUp() {
  const writes = new LargeWrites();
  const order: string[] = [];
  let running = 0;
  let most = 0;
  const write = (tenant: string, name = tenant) =>
    writes.run(tenant, async () => {
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
  const first = writes.run('hostile', () => held.wait());
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

it('goes on after one that failed', async () => {
  const { writes, write } = setUp();
  const failed = writes.run('a', () => Promise.reject(new Error('no')));
  const after = write('b');
  await expect(failed).rejects.toThrow('no');
  expect(await after).toBe('b');
  expect(await write('a')).toBe('a');
});
