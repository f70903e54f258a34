import { describe, expect, it } from 'vitest';
import { LocalContexts } from './local-contexts.ts';

const request = (bytes: number) => ({
  previousId: undefined,
  input: `["${'x'.repeat(bytes - 4)}"]`,
  links: [],
  inputTokens: 1,
});

function keep(all: LocalContexts, tenant: string) {
  const contexts = all.ofConnection(tenant);
  return {
    contexts,
    keep: (id: string, bytes: number) => {
      contexts.begin(id, request(bytes));
      contexts.end(id, []);
    },
    has: (id: string) => contexts.get(id) !== undefined,
  };
}

describe('what connections keep to continue from', () => {
  it('is all given back', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const { contexts, keep: add, has } = keep(all, 'a');
    add('one', 100);
    contexts.begin('two', request(50));
    expect(all.bytes).toBe(150);
    expect(contexts.get('two')).toMatchObject({ kind: 'runs' });
    contexts.drop('one');
    contexts.drop('one');
    expect(has('one')).toBe(false);
    contexts.close();
    expect(all.bytes).toBe(0);
  });

  it('is not kept of a turn that goes on after its connection was closed', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const { contexts, keep: add, has } = keep(all, 'a');
    contexts.begin('one', request(50));
    contexts.close();
    contexts.end('one', []);
    add('two', 50);
    expect([has('one'), has('two'), all.bytes]).toEqual([false, false, 0]);
  });

  it('of a tenant has half of the room, and the oldest goes first', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const [first, second] = [keep(all, 'a'), keep(all, 'a')];
    first.keep('one', 200);
    second.keep('two', 200);
    first.keep('three', 200);
    expect([first.has('one'), second.has('two'), first.has('three')]).toEqual([false, true, true]);
    expect(all.bytes).toBe(400);
  });

  it('goes from the tenant that has most when the room is full', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const [large, other, light] = [keep(all, 'large'), keep(all, 'other'), keep(all, 'light')];
    large.keep('a', 450);
    other.keep('b', 400);
    light.keep('c', 200);
    expect([large.has('a'), other.has('b'), light.has('c')]).toEqual([false, true, true]);
  });

  it('is not kept when it is larger than that', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const { keep: add, has } = keep(all, 'a');
    add('one', 100);
    add('two', 501);
    expect([has('one'), has('two')]).toEqual([true, false]);
  });

  it('is forgotten at its end if there was no room for it meanwhile', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const { contexts, keep: add, has } = keep(all, 'a');
    contexts.begin('one', request(300));
    add('two', 300);
    contexts.end('one', []);
    expect([has('one'), has('two')]).toEqual([false, true]);
    expect(all.bytes).toBe(300);
  });

  it('of a connection is the latest few', () => {
    const all = new LocalContexts({ mostBytes: 1000 });
    const { contexts, keep: add, has } = keep(all, 'a');
    contexts.begin('runs', request(10));
    for (let at = 0; at < 9; at += 1) add(`id ${at}`, 10);
    expect([has('id 0'), has('id 1'), has('runs')]).toEqual([false, true, true]);
  });
});
