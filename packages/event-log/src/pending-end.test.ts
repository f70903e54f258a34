import { completed, nothingProduced } from '@sluice/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PendingEnd } from './pending-end.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const end = completed(nothingProduced, 1_700_000_000);
const message = {
  responseId: 'r',
  events: [],
  end: { status: 'completed', result: JSON.stringify(end) },
} as const;
const never = new AbortController().signal;

function waiting(readEnd: () => Promise<string | undefined | null> = () => Promise.resolve(undefined)) {
  const errors: unknown[] = [];
  const pending = new PendingEnd({
    readEnd,
    onError: (error) => errors.push(error),
    onClose: () => undefined,
  });
  return { pending, errors };
}

describe('waiting for an end', () => {
  it('takes it from the message, also from one that came before the wait', async () => {
    const { pending } = waiting();
    pending.offer({ ...message, events: [] });
    expect(await pending.ended(never)).toEqual(end);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not ended by other messages', async () => {
    const { pending } = waiting();
    const ended = pending.ended(never);
    pending.offer({ responseId: 'r', events: [], end: undefined });
    pending.offer({ ...message, events: [] });
    expect(await ended).toEqual(end);
  });

  it('looks it up when the message was lost', async () => {
    const { pending } = waiting(() => Promise.resolve(message.end.result));
    const ended = pending.ended(never);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toEqual(end);
  });

  it('looks nothing up before it is awaited', async () => {
    const readEnd = vi.fn<() => Promise<undefined>>(() => Promise.resolve(undefined));
    waiting(readEnd);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(readEnd).not.toHaveBeenCalled();
  });

  it('looks it up at once after a reconnect', async () => {
    const { pending } = waiting(() => Promise.resolve(message.end.result));
    const ended = pending.ended(never);
    pending.resync();
    expect(await ended).toEqual(end);
  });

  it('waits out a store that does not answer', async () => {
    let isAway = true;
    const { pending, errors } = waiting(() =>
      isAway ? Promise.reject(new Error('away')) : Promise.resolve(message.end.result),
    );
    const ended = pending.ended(never);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(errors.length).toBeGreaterThan(0);
    isAway = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await ended).toEqual(end);
  });

  it('ends without one when the response is gone', async () => {
    const { pending } = waiting(() => Promise.resolve(null));
    const ended = pending.ended(never);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toBeUndefined();
  });

  it('rejects with the reason of its signal, and leaves no timer', async () => {
    const { pending } = waiting();
    const controller = new AbortController();
    const reason = new Error('left');
    const rejected = expect(pending.ended(controller.signal)).rejects.toBe(reason);
    controller.abort(reason);
    await rejected;
    await expect(pending.ended(controller.signal)).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });
});
