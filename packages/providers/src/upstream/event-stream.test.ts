import { latch } from '@sluice/testing';
import type { Dispatcher } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReadPace } from '../provider.ts';
import { EventStream } from './event-stream.ts';

const timeouts = { connectMs: 1_000, firstTokenMs: 1_000, idleMs: 1_000 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A stream whose answer has begun, and the connection under it. */
function answering(pace?: ReadPace) {
  const aborted: Error[] = [];
  let isPaused = false;
  const controller: Dispatcher.DispatchController = {
    get paused() {
      return isPaused;
    },
    aborted: false,
    reason: null,
    rawHeaders: null,
    rawTrailers: null,
    pause: () => void (isPaused = true),
    resume: () => void (isPaused = false),
    abort: (error: Error) => void aborted.push(error),
  };
  const stream = new EventStream({
    providerId: 'up',
    timeouts,
    signal: new AbortController().signal,
    echoBytes: 0,
    repeatsAnswer: false,
    pace,
  });
  stream.onRequestStart(controller);
  stream.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
  const receive = (text: string) => stream.onResponseData(controller, Buffer.from(text));
  const take = () =>
    stream.take().then(
      () => 'an event',
      (error: Error) => error.message,
    );
  return { stream, controller, aborted, receive, take };
}

const event = (data: string) => `data: ${data}\n\n`;

describe('the socket of an answer', () => {
  it('is read no further while much of it is not taken, and on as soon as it is', async () => {
    const { stream, controller, receive } = answering();
    for (let at = 0; at < 4; at += 1) receive(event('x'.repeat(60_000)));
    expect(controller.paused).toBe(false);
    receive(event('x'.repeat(60_000)));
    expect(controller.paused).toBe(true);
    expect(await stream.take()).toHaveLength(5);
    expect(controller.paused).toBe(false);
    stream.release(false);
  });

  it('is read no further for as long as the pace asks for it', async () => {
    const room = latch();
    const told: [number, boolean][] = [];
    const { stream, controller, receive } = answering({
      took: () => undefined,
      readAhead: (characters, { hasEvents }) => {
        told.push([characters, hasEvents]);
        return told.length === 2 ? room.wait() : undefined;
      },
    });
    receive(event('abc'));
    expect(controller.paused).toBe(false);
    receive('data: half');
    expect(controller.paused).toBe(true);
    expect(told).toEqual([
      [3, true],
      [13, false],
    ]);
    // Taking what is there does not end the pause.
    expect(await stream.take()).toHaveLength(1);
    expect(controller.paused).toBe(true);
    room.open();
    await vi.waitFor(() => expect(controller.paused).toBe(false));
    stream.release(false);
  });

  it('counts no pause of ours as silence, and counts that of the upstream', async () => {
    const room = latch();
    let isFull = true;
    const { stream, aborted, receive, take } = answering({
      took: () => undefined,
      readAhead: () => (isFull ? room.wait() : undefined),
    });
    receive(event('a'));
    await stream.take();
    stream.answering();
    const next = take();
    await vi.advanceTimersByTimeAsync(10 * timeouts.idleMs);
    expect(aborted).toEqual([]);
    isFull = false;
    room.open();
    await vi.advanceTimersByTimeAsync(2 * timeouts.idleMs);
    expect(await next).toContain('fell silent');
    expect(aborted).toHaveLength(1);
    stream.release(false);
  });

  it('may take as long as it likes while no gap between two events is too long', async () => {
    const { stream, aborted, receive, take } = answering();
    stream.answering();
    for (let at = 0; at < 8; at += 1) {
      const taken = take();
      await vi.advanceTimersByTimeAsync(timeouts.idleMs - 100);
      receive(event('a'));
      expect(await taken).toBe('an event');
    }
    expect(aborted).toEqual([]);
    const last = take();
    await vi.advanceTimersByTimeAsync(timeouts.idleMs);
    expect(await last).toContain('fell silent');
    stream.release(false);
  });

  it('has the whole time for a first token beside a pause of ours', async () => {
    const room = latch();
    const { stream, aborted, receive, take } = answering({
      took: () => undefined,
      readAhead: () => room.wait(),
    });
    receive('data: half');
    const next = take();
    await vi.advanceTimersByTimeAsync(10 * timeouts.firstTokenMs);
    expect(aborted).toEqual([]);
    room.open();
    await vi.advanceTimersByTimeAsync(2 * timeouts.firstTokenMs);
    expect(await next).toContain('took too long to send a first token');
    stream.release(false);
  });
});
