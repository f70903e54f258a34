import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError, UnreachableError } from './api-error.ts';
import { type EventStreamOptions, type LiveEvent, readEventStream } from './event-stream.ts';
import { keepLive } from './live-connection.ts';
import type { LiveState } from './live-states.ts';
import { followWhileVisible } from './visible-connection.ts';

beforeEach(() => {
  vi.stubGlobal('sessionStorage', { getItem: () => null });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(() => vi.unstubAllGlobals());

type Turn = (options: EventStreamOptions) => Promise<void> | void;

/** Follows a service whose connections go as `turns` say, one after another; the one after the last ends it. */
async function follow(turns: readonly Turn[], lastEventId?: string) {
  const stop = new AbortController();
  const states: LiveState[] = [];
  const events: LiveEvent[] = [];
  const delays: number[] = [];
  const askedFor: (string | undefined)[] = [];
  let at = 0;
  await keepLive(
    {
      url: '/admin/v1/overview/events',
      lastEventId,
      onEvent: (event) => events.push(event),
      onState: (state) => states.push(state),
      read: async (options) => {
        const turn = turns[at++];
        if (turn === undefined) {
          stop.abort();
          return;
        }
        askedFor.push(options.lastEventId);
        await turn(options);
      },
      wait: async (delayMs) => void delays.push(delayMs),
    },
    stop.signal,
  );
  return { states, events, delays, askedFor };
}

const event = (id: string | undefined): LiveEvent => ({ event: 'tick', data: 1, id });
const sends =
  (...ids: (string | undefined)[]): Turn =>
  ({ onOpen, onEvent }) => {
    onOpen();
    for (const id of ids) onEvent(event(id));
  };
const fails =
  (error: Error): Turn =>
  () => {
    throw error;
  };
const away = new UnreachableError(new TypeError('Failed to fetch'));
const refused = (status: number) => new ApiError(status, { type: 't', code: 'c', message: 'm', param: null });

describe('a live connection', () => {
  it('goes on after the last event that had an id', async () => {
    const { askedFor, events, states } = await follow(
      [sends('1', '2'), sends(undefined), sends('3'), sends()],
      '0',
    );
    expect(askedFor).toEqual(['0', '2', '2', '3']);
    expect(events.map(({ id }) => id)).toEqual(['1', '2', undefined, '3']);
    expect(states.slice(0, 4)).toEqual(['connecting', 'live', 'lost', 'connecting']);
  });

  it('waits twice as long after each try in vain, up to a limit, with a random part', async () => {
    const { delays } = await follow(Array.from({ length: 8 }, () => fails(away)));
    const plain = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000];
    for (const [at, delayMs] of delays.entries()) {
      expect(delayMs).toBeGreaterThanOrEqual((plain[at] ?? 0) * 0.75);
      expect(delayMs).toBeLessThanOrEqual((plain[at] ?? 0) * 1.25);
    }
    expect(delays).toHaveLength(8);
  });

  it('begins anew with short waits once it was live', async () => {
    const { delays } = await follow([fails(away), fails(away), fails(away), sends('1')]);
    expect(delays.at(-1)).toBeLessThanOrEqual(625);
  });

  it.each([401, 403, 404])('asks seldom after a refusal with %i', async (status) => {
    const { delays } = await follow([fails(refused(status))]);
    expect(delays[0]).toBeGreaterThanOrEqual(15_000 * 0.75);
  });

  it.each([429, 500, 503])('asks soon after %i', async (status) => {
    const { delays } = await follow([fails(refused(status))]);
    expect(delays[0]).toBeLessThanOrEqual(625);
  });

  it('ends when its page is left, also while it waits', async () => {
    const stop = new AbortController();
    const states: LiveState[] = [];
    const ended = keepLive(
      {
        url: '/',
        onEvent: () => undefined,
        onState: (state) => states.push(state),
        read: () => Promise.reject(away),
      },
      stop.signal,
    );
    await vi.waitFor(() => expect(states).toEqual(['connecting', 'lost']));
    stop.abort();
    await ended;
    expect(states).toEqual(['connecting', 'lost']);
  });
});

describe('a stream of events', () => {
  /** Reads a body that comes in these pieces. */
  async function read(pieces: readonly string[], lastEventId?: string) {
    const fetched = vi.fn<typeof fetch>(async () => new Response(streamOf(pieces)));
    vi.stubGlobal('fetch', fetched);
    const events: LiveEvent[] = [];
    const onOpen = vi.fn<() => void>();
    const { signal } = new AbortController();
    await readEventStream({
      url: '/events',
      lastEventId,
      signal,
      onOpen,
      onEvent: (each) => events.push(each),
    });
    return { events, onOpen, headers: new Headers(fetched.mock.calls[0]?.[1]?.headers) };
  }

  const streamOf = (pieces: readonly string[]) =>
    new ReadableStream({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });

  it('is parsed however it is cut', async () => {
    const text = ': still here\n\nid: 7\nevent: tick\ndata: {"é":[1,2]}\n\ndata: "plain"\n\n';
    for (let at = 1; at < text.length; at += 1) {
      const { events, onOpen } = await read([text.slice(0, at), text.slice(at)]);
      expect(events).toEqual([
        { event: 'tick', data: { é: [1, 2] }, id: '7' },
        { event: 'message', data: 'plain', id: undefined },
      ]);
      expect(onOpen).toHaveBeenCalledTimes(1);
    }
  });

  it('asks to go on where it was told', async () => {
    expect((await read([], '41')).headers.get('last-event-id')).toBe('41');
    expect((await read([])).headers.get('last-event-id')).toBeNull();
  });

  it('counts as gone after silence', async () => {
    vi.useFakeTimers();
    vi.stubGlobal(
      'fetch',
      async (_url: string, { signal }: RequestInit) =>
        new Response(
          new ReadableStream({
            start: (controller) => signal?.addEventListener('abort', () => controller.error(signal.reason)),
          }),
        ),
    );
    const { signal } = new AbortController();
    const reading = readEventStream({ url: '/', signal, onOpen: () => undefined, onEvent: () => undefined });
    const failed = expect(reading).rejects.toBeInstanceOf(UnreachableError);
    await vi.advanceTimersByTimeAsync(40_000);
    await failed;
  });
});

describe('a connection of a tab', () => {
  /** A page that can be hidden, and the connections it has made. */
  function tab(hidden = false) {
    const page = Object.assign(new EventTarget(), { hidden });
    const connections: { options: Parameters<typeof keepLive>[0]; signal: AbortSignal }[] = [];
    const states: LiveState[] = [];
    const events: LiveEvent[] = [];
    const stop = followWhileVisible({
      url: '/events',
      page,
      onEvent: (each) => events.push(each),
      onState: (state) => states.push(state),
      keep: async (options, signal) => void connections.push({ options, signal }),
    });
    const show = (isHidden: boolean) => {
      page.hidden = isHidden;
      page.dispatchEvent(new Event('visibilitychange'));
    };
    return { connections, states, events, show, stop };
  }

  it('ends while the tab is hidden, and goes on after the last event that was seen', () => {
    const { connections, states, events, show } = tab();
    connections[0]?.options.onState('live', undefined);
    connections[0]?.options.onEvent(event('5'));
    connections[0]?.options.onEvent(event(undefined));
    show(true);
    expect(connections[0]?.signal.aborted).toBe(true);
    connections[0]?.options.onEvent(event('6'));
    connections[0]?.options.onState('lost', undefined);
    expect(states).toEqual(['live', 'paused']);
    show(false);
    expect(connections.map(({ options }) => options.lastEventId)).toEqual([undefined, '5']);
    expect(events.map(({ id }) => id)).toEqual(['5', undefined]);
  });

  it('is not made for a tab that is opened in the background', () => {
    const { connections, states, show } = tab(true);
    expect([connections.length, states]).toEqual([0, ['paused']]);
    show(false);
    expect(connections).toHaveLength(1);
  });

  it('is over for good when the page is left', () => {
    const { connections, states, show, stop } = tab();
    stop();
    expect(connections[0]?.signal.aborted).toBe(true);
    show(true);
    show(false);
    expect([connections.length, states]).toEqual([1, []]);
  });
});
