import { describe, expect, it, vi } from 'vitest';
import type { FoundEnd } from '../reading/read-record.ts';
import { EndWait } from './end-wait.ts';

const json = '{"id":"r","sequence_number":3,"status":"completed"}';
const end = { kind: 'read', json } as const;
const message = { responseId: 'r', events: [], end: json };

function waiting(readEnd: () => Promise<FoundEnd | undefined | null> = () => Promise.resolve(undefined)) {
  const clock = { now: 0 };
  const errors: unknown[] = [];
  const onClose = vi.fn<() => void>();
  const wait = new EndWait({
    readEnd,
    onError: (error) => errors.push(error),
    onClose,
    now: () => clock.now,
  });
  /** Lets time pass as its owner does, a quarter of a second at a time. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      clock.now += 250;
      wait.tick(clock.now);
      await Promise.resolve();
    }
  };
  return { wait, errors, onClose, pass };
}

describe('waiting for an end', () => {
  it('takes it from the message, also from one that came before the wait began', async () => {
    const { wait, onClose } = waiting();
    wait.offer(message);
    wait.begin(1_000);
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
    wait.close();
    expect(onClose).toHaveBeenCalledTimes(1);
  });

  it('is not ended by other messages', async () => {
    const { wait } = waiting();
    wait.offer({ responseId: 'r', events: [], end: undefined });
    wait.offer(message);
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
  });

  it('looks it up when the message was lost', async () => {
    const { wait, pass } = waiting(() => Promise.resolve(end));
    wait.begin(60_000);
    await pass(1_000);
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
  });

  it('looks nothing up before it has begun', async () => {
    const readEnd = vi.fn<() => Promise<undefined>>(() => Promise.resolve(undefined));
    const { pass } = waiting(readEnd);
    await pass(60_000);
    expect(readEnd).not.toHaveBeenCalled();
  });

  it('looks once more when it was told to during a look, and never twice at a time', async () => {
    const looks: PromiseWithResolvers<FoundEnd | undefined>[] = [];
    const { wait, pass } = waiting(() => {
      const look = Promise.withResolvers<FoundEnd | undefined>();
      looks.push(look);
      return look.promise;
    });
    wait.begin(600_000);
    wait.resync();
    await pass(60_000);
    wait.resync();
    expect(looks).toHaveLength(1);
    looks[0]?.resolve(undefined);
    await vi.waitFor(() => expect(looks).toHaveLength(2));
    looks[1]?.resolve(end);
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
    expect(looks).toHaveLength(2);
  });

  it('looks it up ever more rarely', async () => {
    const readEnd = vi.fn<() => Promise<undefined>>(() => Promise.resolve(undefined));
    const { wait, pass } = waiting(readEnd);
    wait.begin(600_000);
    await pass(60_000);
    expect(readEnd.mock.calls.length).toBeGreaterThan(10);
    expect(readEnd.mock.calls.length).toBeLessThan(16);
  });

  it('looks it up at once after a reconnect', async () => {
    const { wait } = waiting(() => Promise.resolve(end));
    wait.begin(60_000);
    wait.resync();
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
  });

  it('looks it up after the accept when the reconnect came before it', async () => {
    const store: { end: FoundEnd | null } = { end: null };
    const { wait } = waiting(() => Promise.resolve(store.end));
    wait.resync();
    await Promise.resolve();
    expect(wait.settledAs).toBeUndefined();
    store.end = end;
    wait.begin(60_000);
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
  });

  it('waits out a store that does not answer', async () => {
    const store = { isAway: true };
    const { wait, errors, pass } = waiting(() =>
      store.isAway ? Promise.reject(new Error('away')) : Promise.resolve(end),
    );
    wait.begin(60_000);
    await pass(10_000);
    expect(errors.length).toBeGreaterThan(0);
    store.isAway = false;
    await pass(5_000);
    expect(await wait.outcome).toEqual({ kind: 'ended', end });
  });

  it('tells when the response is gone', async () => {
    const { wait, pass } = waiting(() => Promise.resolve(null));
    wait.begin(60_000);
    await pass(1_000);
    expect(await wait.outcome).toEqual({ kind: 'gone' });
  });

  it('lasts as long as it was given', async () => {
    const { wait, pass } = waiting();
    wait.begin(3_000);
    await pass(3_000);
    wait.offer(message);
    expect(await wait.outcome).toEqual({ kind: 'timed_out' });
  });

  it('ends when its caller gives up, and what comes later changes nothing', async () => {
    const { wait, onClose } = waiting();
    wait.giveUp('caller_left');
    wait.offer(message);
    expect(await wait.outcome).toEqual({ kind: 'given_up', reason: 'caller_left' });
    expect(onClose).toHaveBeenCalledTimes(1);
  });
});
