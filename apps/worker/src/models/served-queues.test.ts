import { eventually, latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { ServedQueues } from './served-queues.ts';

function setUp() {
  const done: string[] = [];
  const errors: unknown[] = [];
  const world = { names: ['a'], setLimits: () => Promise.resolve() };
  const queues = new ServedQueues({
    names: () => world.names,
    limits: {
      set: async () => {
        await world.setLimits();
        done.push('limits');
      },
    },
    consumer: { serve: (names) => done.push(`serves ${names.join()}`) },
    onError: (error) => errors.push(error),
  });
  return { queues, world, done, errors };
}

describe('the queues of a worker', () => {
  it('have their limits before they are served', async () => {
    const { queues, done } = setUp();
    queues.change();
    await eventually(() => done.length === 2);
    expect(done).toEqual(['limits', 'serves a']);
  });

  it('are those of the last of several changes, each of which waits for the one before', async () => {
    const { queues, world, done } = setUp();
    const limited = latch();
    world.setLimits = () => limited.wait();
    queues.change();
    world.names = ['a', 'b'];
    queues.change();
    world.names = ['b', 'c'];
    queues.change();
    limited.open();
    await eventually(() => done.length === 4);
    expect(done).toEqual(['limits', 'serves b,c', 'limits', 'serves b,c']);
  });

  it('are those of a change that comes in the moment in which another one ends', async () => {
    const { queues, world, done } = setUp();
    let isFirst = true;
    // The names are read at the end of a change, which is over some microtasks later.
    Object.defineProperty(world, 'names', {
      get: () => {
        if (isFirst) void Promise.resolve().then(() => queues.change());
        const names = isFirst ? ['a'] : ['b'];
        isFirst = false;
        return names;
      },
    });
    queues.change();
    await eventually(() => done.includes('serves b'));
    expect(done).toEqual(['limits', 'serves a', 'limits', 'serves b']);
  });

  it('stay until Redis is back, and are served then', async () => {
    const { queues, world, done, errors } = setUp();
    let tries = 0;
    world.setLimits = () => {
      tries += 1;
      return tries < 3 ? Promise.reject(new Error('Connection is closed.')) : Promise.resolve();
    };
    queues.change();
    await eventually(() => done.length === 2);
    expect(done).toEqual(['limits', 'serves a']);
    expect(errors).toEqual([]);
  });

  it('say when they cannot be served, and are served by the next change', async () => {
    const { queues, world, done, errors } = setUp();
    world.setLimits = () => Promise.reject(new TypeError('a defect'));
    queues.change();
    await eventually(() => errors.length === 1);
    world.setLimits = () => Promise.resolve();
    queues.change();
    await eventually(() => done.length === 2);
  });

  it('change no more once the worker stops', async () => {
    const { queues, world, done } = setUp();
    const limited = latch();
    world.setLimits = () => limited.wait();
    queues.change();
    const stopped = queues.stop();
    queues.change();
    limited.open();
    await stopped;
    expect(done).toEqual(['limits', 'serves a']);
    queues.change();
    await queues.stop();
    expect(done).toHaveLength(2);
  });
});
