import { describe, expect, it } from 'vitest';
import { DurabilityBarrier } from './durability.ts';

function setUp(durability: 'fsync' | 'replica') {
  const sent: string[] = [];
  const waits: PromiseWithResolvers<unknown>[] = [];
  const barrier = new DurabilityBarrier({
    durability,
    keys: ['{0}:barrier'],
    withinMs: 700,
    connection: {
      set: (...args: unknown[]) => {
        sent.push(`SET ${args.join(' ')}`);
        return Promise.resolve('OK');
      },
      call: (...args) => {
        sent.push(args.join(' '));
        const wait = Promise.withResolvers<unknown>();
        waits.push(wait);
        return wait.promise;
      },
    },
  });
  return { barrier, sent, waits };
}

describe('a barrier', () => {
  it.each([
    ['replica', 'WAIT 1 700', 1, true],
    ['replica', 'WAIT 1 700', 0, false],
    ['fsync', 'WAITAOF 1 0 700', [1, 0], true],
    ['fsync', 'WAITAOF 1 0 700', [0, 0], false],
  ] as const)(
    'of kind %s writes, then waits: %s answers %s',
    async (durability, command, reply, isReached) => {
      const { barrier, sent, waits } = setUp(durability);
      const reached = barrier.reached();
      expect(sent).toEqual(['SET {0}:barrier 1 PX 60000', command]);
      waits[0]?.resolve(reply);
      expect(await reached).toBe(isReached);
    },
  );

  it('is shared by all who come while another one is under way, and never by those before', async () => {
    const { barrier, sent, waits } = setUp('replica');
    const first = barrier.reached();
    const second = barrier.reached();
    const third = barrier.reached();
    expect(waits).toHaveLength(1);
    waits[0]?.resolve(1);
    expect(await first).toBe(true);
    await expect.poll(() => waits.length).toBe(2);
    waits[1]?.resolve(0);
    expect(await Promise.all([second, third])).toEqual([false, false]);
    expect(sent).toHaveLength(4);
  });

  it('begins anew after one that got no answer', async () => {
    const { barrier, waits } = setUp('replica');
    const first = barrier.reached();
    const second = barrier.reached();
    waits[0]?.reject(new Error('Connection is closed.'));
    await expect(first).rejects.toThrow('Connection is closed.');
    await expect.poll(() => waits.length).toBe(2);
    waits[1]?.resolve(1);
    expect(await second).toBe(true);
  });
});
