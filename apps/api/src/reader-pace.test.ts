import { Writable } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { drained } from './reader-pace.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('the wait for a slow reader', () => {
  const stalledMs = 30_000;

  function waiting() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
    const connection = new Writable();
    const onStalled = vi.fn();
    const signal = new AbortController().signal;
    return { connection, onStalled, wait: drained(connection, { signal, stalledMs, onStalled }) };
  }

  it('ends with a reader that takes nothing for its time', () => {
    const { onStalled } = waiting();
    vi.advanceTimersByTime(stalledMs - 1);
    expect(onStalled).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    vi.runAllTicks();
    vi.runOnlyPendingTimers();
    expect(onStalled).toHaveBeenCalledOnce();
  });

  it('asks the sockets first in a process that stood still for that time', async () => {
    const { connection, onStalled, wait } = waiting();
    setTimeout(() => connection.emit('drain'), stalledMs); // comes with the sockets, after the timer and before what is to run then
    vi.advanceTimersByTime(stalledMs);
    await wait;
    vi.runAllTimers();
    expect(onStalled).not.toHaveBeenCalled();
  });
});
