import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LargeValues } from './large-values.ts';
import type { LargeValueConnection } from './record/connection.ts';

/** An eighth of what may be under way. */
const unit = 64 * 1024;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A connection whose commands are answered when the test says so, the oldest first. */
function heldConnection() {
  const disconnect = vi.fn<(reconnect?: boolean) => void>();
  const connection = { disconnect } as unknown as LargeValueConnection; // the only member that is used itself
  const sent: number[] = [];
  const answers: (() => void)[] = [];
  /** A command of so many units, for `transfer`. */
  const command = (size: number) => () => {
    sent.push(size);
    return new Promise<string>((resolve) => answers.push(() => resolve('OK')));
  };
  const answer = async () => {
    answers.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  const transfer = (large: LargeValues, size: number) => large.transfer(size * unit, command(size));
  return { connection, disconnect, sent, answer, transfer };
}

describe('large values', () => {
  it('go in order, and few bytes at once', async () => {
    const { connection, sent, answer, transfer } = heldConnection();
    const large = new LargeValues(connection);
    const all = [3, 5, 1, 20, 1].map((size) => transfer(large, size));
    expect(sent).toEqual([3, 5]);
    await answer();
    expect(sent).toEqual([3, 5, 1]);
    await answer();
    // What is longer than the bound goes alone, and nothing overtakes it.
    expect(sent).toEqual([3, 5, 1]);
    await answer();
    expect(sent).toEqual([3, 5, 1, 20]);
    await answer();
    expect(sent).toEqual([3, 5, 1, 20, 1]);
    await answer();
    await Promise.all(all);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are refused when too many bytes are in line, and let in again when some have left', async () => {
    const { connection, answer, transfer } = heldConnection();
    const large = new LargeValues(connection, 30 * unit);
    const first = transfer(large, 20);
    const second = transfer(large, 10);
    await expect(transfer(large, 1)).rejects.toMatchObject({ code: 'server_is_overloaded' });
    await answer();
    await first;
    const third = transfer(large, 20);
    await answer();
    await second;
    await answer();
    await third;
  });

  it('are let in alone, whatever their length', async () => {
    const { connection, answer, transfer } = heldConnection();
    const only = transfer(new LargeValues(connection, unit), 2);
    await answer();
    expect(await only).toBe('OK');
  });

  it('have a time by what is in line; then the connection is cut', async () => {
    const { connection, sent, disconnect, answer, transfer } = heldConnection();
    const large = new LargeValues(connection);
    const outcome = (moved: Promise<string>) => moved.catch((error: Error) => error.message);
    const first = outcome(transfer(large, 16));
    const second = outcome(transfer(large, 8));
    // A second, and 8 ms for each unit.
    await vi.advanceTimersByTimeAsync(1_127);
    expect(disconnect).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await first).toContain('takes too long');
    expect(disconnect.mock.calls).toEqual([[true]]);
    // The one behind it has a time of its own, and was never sent, so there is nothing to cut for it.
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(64);
    expect(await second).toContain('takes too long');
    expect(sent).toEqual([16]);
    expect(disconnect).toHaveBeenCalledTimes(1);
    await answer();
    const third = transfer(large, 8);
    await answer();
    expect(await third).toBe('OK');
  });
});
