import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppendLane } from './append-lane.ts';
import { redisKeys } from './record/keys.ts';

const windowMs = 2;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A lane over a store that answers `ok` for each response, and what it was sent. */
function setUp() {
  const calls: string[][] = [];
  const evalsha = vi.fn((_digest: string, keyCount: number, ...values: string[]): Promise<unknown> => {
    const ids = values.slice(0, keyCount).filter((key) => key.includes(':response:'));
    calls.push(ids.map((key) => key.slice(key.indexOf('create-response_'))));
    return Promise.resolve(ids.map(() => 'ok'));
  });
  const keys = redisKeys('test:', () => ['0', '1']);
  const lane = new AppendLane({ redis: { evalsha } as never, keys, windowMs });
  /** Appends events of this many characters, without waiting for them. */
  const append = (name: string, { cell = '0', events = 1, characters = 10 } = {}) => {
    const take = vi.fn(() => ({
      token: 'a',
      sequenceNumber: 3,
      events: Array.from({ length: events }, () => 'x'.repeat(characters)),
    }));
    const responseId = idOf(name, cell);
    return { responseId, take, result: lane.append({ responseId, take }) };
  };
  return { lane, append, calls, evalsha };
}

const idOf = (name: string, cell = '0') => `create-response_${cell}${name}`;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('appends of many responses', () => {
  it('leave in one call when they come in one turn', async () => {
    const { append, calls } = setUp();
    const made = ['x', 'y', 'z'].map((name) => append(name));
    expect(calls).toEqual([]);
    expect(await Promise.all(made.map(({ result }) => result))).toEqual(['ok', 'ok', 'ok']);
    expect(calls).toEqual([[idOf('x'), idOf('y'), idOf('z')]]);
  });

  it('leave at once after a pause, and otherwise in one call for each window', async () => {
    const { append, calls } = setUp();
    await append('x').result;
    const gathered = [append('y')];
    await turn();
    gathered.push(append('z'));
    await turn();
    expect(calls).toEqual([[idOf('x')]]);
    vi.advanceTimersByTime(windowMs);
    await Promise.all(gathered.map(({ result }) => result));
    expect(calls.slice(1)).toEqual([[idOf('y'), idOf('z')]]);
    vi.advanceTimersByTime(windowMs);
    await append('x').result;
    expect(calls.slice(2)).toEqual([[idOf('x')]]);
  });

  it('are asked for what goes out when it does', async () => {
    const { append } = setUp();
    await append('x').result;
    const { take, result } = append('y');
    await turn();
    expect(take).not.toHaveBeenCalled();
    vi.advanceTimersByTime(windowMs);
    await result;
    expect(take).toHaveBeenCalledOnce();
  });

  it('can be withdrawn until they leave', async () => {
    const { lane, append, calls } = setUp();
    await append('x').result;
    const { responseId, take, result } = append('y');
    const other = append('z');
    lane.withdraw(responseId);
    lane.withdraw(idOf('nobody'));
    expect(await result).toBeUndefined();
    vi.advanceTimersByTime(windowMs);
    expect(await other.result).toBe('ok');
    expect(take).not.toHaveBeenCalled();
    expect(calls.slice(1)).toEqual([[idOf('z')]]);
  });

  it.each([
    ['a hundred events', { events: 60 }],
    ['the characters of many events', { characters: 40_000 }],
  ])('are split where a call has more than %s', async (_, large) => {
    const { append, calls } = setUp();
    const made = [append('x', large), append('y', large), append('z')];
    await Promise.all(made.map(({ result }) => result));
    expect(calls).toEqual([[idOf('x')], [idOf('y'), idOf('z')]]);
  });

  it('are sent whole, however large they are', async () => {
    const { append, calls } = setUp();
    const made = [append('x', { characters: 500_000 }), append('y')];
    expect(await Promise.all(made.map(({ result }) => result))).toEqual(['ok', 'ok']);
    expect(calls).toEqual([[idOf('x')], [idOf('y')]]);
  });

  it('go to their cells', async () => {
    const { append, calls } = setUp();
    const made = [append('x'), append('y', { cell: '1' }), append('z')];
    await Promise.all(made.map(({ result }) => result));
    expect(calls).toEqual([[idOf('x'), idOf('z')], [idOf('y', '1')]]);
  });

  it('hear of their own errors, and all of one that is the call itself', async () => {
    const { append, evalsha } = setUp();
    evalsha.mockResolvedValueOnce(['ok', 'error WRONGTYPE of its log']);
    const some = [append('x'), append('y')];
    expect(await Promise.allSettled(some.map(({ result }) => result))).toEqual([
      { status: 'fulfilled', value: 'ok' },
      { status: 'rejected', reason: new Error('WRONGTYPE of its log') },
    ]);
    vi.advanceTimersByTime(windowMs);
    const silence = new Error('Connection is closed.');
    evalsha.mockRejectedValueOnce(silence);
    const all = [append('x'), append('y')];
    expect(await Promise.allSettled(all.map(({ result }) => result))).toEqual([
      { status: 'rejected', reason: silence },
      { status: 'rejected', reason: silence },
    ]);
  });

  it('take an answer that is none of the words for a defect', async () => {
    const { append, evalsha } = setUp();
    evalsha.mockResolvedValueOnce(['fine']);
    const made = [append('x'), append('y')];
    const settled = await Promise.allSettled(made.map(({ result }) => result));
    expect(settled.map((each) => each.status === 'rejected' && each.reason instanceof TypeError)).toEqual([
      true,
      true,
    ]);
  });
});
