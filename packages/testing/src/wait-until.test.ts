import { describe, expect, it } from 'vitest';
import { eventually, latch, within } from './wait-until.ts';

describe('eventually', () => {
  it('resolves with the first value that is something', async () => {
    const values = [undefined, null, false, 0];
    expect(await eventually(() => values.shift())).toBe(0);
  });

  it('takes a check that throws as not yet true', async () => {
    let calls = 0;
    const value = await eventually(() => {
      calls += 1;
      if (calls < 3) throw new Error('not yet');
      return 'now';
    });
    expect(value).toBe('now');
  });

  it('says in the time-out what the last check threw', async () => {
    const check = () => {
      throw new Error('still queued');
    };
    await expect(eventually(check, { timeoutMs: 20 })).rejects.toThrow('not true within 20 ms: still queued');
  });

  it('ends with the reason of its signal', async () => {
    const reason = new Error('test is over');
    const controller = new AbortController();
    const waiting = eventually(() => undefined, { signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toMatchObject({ cause: reason });
  });
});

describe('latch', () => {
  it('lets through those who came before and those who come after it opened', async () => {
    const gate = latch<string>();
    const before = gate.wait();
    expect(gate.isOpen).toBe(false);
    gate.open('first');
    gate.open('second');
    expect(gate.isOpen).toBe(true);
    expect(await before).toBe('first');
    expect(await gate.wait()).toBe('first');
  });

  it('rejects a wait that takes too long', async () => {
    await expect(latch().wait({ timeoutMs: 10 })).rejects.toThrow('not settled within 10 ms');
  });
});

describe('within', () => {
  it('passes on a rejection', async () => {
    await expect(within(Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});
