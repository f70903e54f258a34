import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { messageFraming } from './routes/create-message.ts';
import { SseStream, type StreamFraming } from './sse.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

const streams: SseStream[] = [];

afterEach(() => {
  for (const stream of streams.splice(0)) stream.cut();
  vi.useRealTimers();
});

/** The socket side of a stream, with a client as slow as the test wants it. */
class FakeSocket extends EventEmitter {
  readonly writes: string[] = [];
  headers: Record<string, string> = {};
  /** What the kernel says of the next write. */
  isFull = false;
  destroyed = false;
  ended: string | undefined;
  isOver = false;
  /** Heads without anything behind them. */
  headsSent = 0;
  /** Whether what is written goes out with what comes next. */
  #isCorked = false;
  readonly socket = {
    setNoDelay: () => undefined,
    cork: () => (this.#isCorked = true),
    uncork: () => (this.#isCorked = false),
  };

  get writableNeedDrain(): boolean {
    return this.isFull;
  }

  writeHead(_status: number, headers: Record<string, string>): void {
    this.headers = headers;
  }

  flushHeaders(): void {
    if (!this.#isCorked) this.headsSent += 1;
  }

  write(text: string): boolean {
    this.writes.push(text);
    return !this.isFull;
  }

  end(text?: string): void {
    this.ended = text;
    this.isOver = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  drain(): void {
    this.isFull = false;
    this.emit('drain');
  }
}

function setUp(headers: Record<string, string> = {}, framing?: StreamFraming) {
  const socket = new FakeSocket();
  // Everything that a stream uses of a response is there.
  const stream = new SseStream(socket as unknown as ServerResponse, headers, framing);
  streams.push(stream);
  return { socket, stream };
}

const event = (number: number, type = 'response.output_text.delta') => ({
  type,
  sequenceNumber: number,
  json: `{"type":"${type}","sequence_number":${number}}`,
});

describe('an event stream', () => {
  it('says what it is, and is not to be stored or changed on the way', () => {
    const { socket } = setUp({ 'x-request-id': 'req_1' });
    expect(socket.headers).toMatchObject({
      'x-request-id': 'req_1',
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
  });

  it('sends its head when there is nothing to send yet, once, and no head alone when there was', async () => {
    const waiting = setUp();
    expect(waiting.socket.headsSent).toBe(0);
    waiting.stream.caughtUp();
    waiting.stream.caughtUp();
    expect(waiting.socket).toMatchObject({ headsSent: 1, writes: [] });
    waiting.stream.cut();
    waiting.stream.caughtUp();
    const begun = setUp();
    await begun.stream.write([event(0)]);
    begun.stream.caughtUp();
    expect(begun.socket.headsSent).toBe(0);
  });

  it('sends an event and its blank line in one write', async () => {
    const { socket, stream } = setUp();
    await stream.write([event(0)]);
    expect(socket.writes).toEqual([
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":0}\n\n',
    ]);
  });

  it('sends the events of a turn in one write', async () => {
    const { socket, stream } = setUp();
    await stream.write([event(0), event(1), event(2)]);
    expect(socket.writes).toHaveLength(1);
    expect(socket.writes[0]?.split('\n\n')).toHaveLength(4);
  });

  it('sends many large events in several writes, none of them cut', async () => {
    const { socket, stream } = setUp();
    const large = {
      type: 'response.output_text.delta',
      sequenceNumber: 5,
      json: JSON.stringify({ delta: 'x'.repeat(30_000) }),
    };
    await stream.write(Array.from({ length: 10 }, () => large));
    expect(socket.writes.length).toBeGreaterThan(1);
    for (const text of socket.writes) {
      expect(text.length).toBeLessThan(128 * 1024);
      expect(text.endsWith('}\n\n')).toBe(true);
    }
  });

  it('ends with [DONE] and leaves no timer behind once that is taken', () => {
    const { socket, stream } = setUp();
    stream.end();
    expect(socket.ended).toBe('data: [DONE]\n\n');
    socket.emit('close');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is closed when nobody takes its last frame', () => {
    const { socket, stream } = setUp();
    stream.end();
    vi.advanceTimersByTime(60_000);
    expect(socket.destroyed).toBe(true);
  });

  it('that is cut does not pretend to have ended', () => {
    const { socket, stream } = setUp();
    stream.cut();
    expect(socket).toMatchObject({ destroyed: true, ended: undefined, writes: [] });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a silent stream', () => {
  it('sends a comment every fifteen seconds', async () => {
    const { socket, stream } = setUp();
    await stream.write([event(0)]);
    vi.advanceTimersByTime(45_000);
    expect(socket.writes.slice(1)).toEqual([': ping\n\n', ': ping\n\n', ': ping\n\n']);
  });

  it('is never silent for longer than that, whenever its last event was', async () => {
    const { socket, stream } = setUp();
    vi.advanceTimersByTime(1_000);
    await stream.write([event(0)]);
    vi.advanceTimersByTime(15_000);
    expect(socket.writes.slice(1)).toEqual([': ping\n\n']);
    vi.advanceTimersByTime(5_000);
    await stream.write([event(1)]);
    vi.advanceTimersByTime(15_000);
    expect(socket.writes.slice(2)).toEqual([expect.stringContaining('event:'), ': ping\n\n']);
    stream.cut();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends none while events go out', async () => {
    const { socket, stream } = setUp();
    for (let number = 0; number < 10; number += 1) {
      await stream.write([event(number)]);
      vi.advanceTimersByTime(10_000);
    }
    expect(socket.writes).not.toContain(': ping\n\n');
  });

  it('has them in the manner of its protocol', () => {
    const { socket } = setUp({}, messageFraming({ thinking: 'none' }, 'req_1'));
    vi.advanceTimersByTime(15_000);
    expect(socket.writes).toEqual(['event: ping\ndata: {"type":"ping"}\n\n']);
  });

  it('repeats the latest life-cycle event after a minute, under the last number', async () => {
    const { socket, stream } = setUp();
    stream.repeatWhileSilent(() => event(7, 'response.in_progress'));
    await stream.write([event(7)]);
    vi.advanceTimersByTime(120_000);
    const repeated = socket.writes.filter((text) => text.startsWith('event: response.in_progress\n'));
    expect(repeated).toHaveLength(2);
    expect(repeated[0]).toBe(
      'event: response.in_progress\ndata: {"type":"response.in_progress","sequence_number":7}\n\n',
    );
  });

  it('repeats nothing before there is anything to repeat', () => {
    const { socket } = setUp();
    vi.advanceTimersByTime(120_000);
    expect(new Set(socket.writes)).toEqual(new Set([': ping\n\n']));
  });

  it('sends nothing into a socket that is full', async () => {
    const { socket, stream } = setUp();
    socket.isFull = true;
    const write = stream.write([event(0)]);
    vi.advanceTimersByTime(29_000);
    expect(socket.writes).toHaveLength(1);
    socket.drain();
    await write;
  });
});

describe('a slow reader', () => {
  it('holds up the writing until it has caught up', async () => {
    const { socket, stream } = setUp();
    socket.isFull = true;
    let isWritten = false;
    const write = stream.write([event(0)]).then(() => {
      isWritten = true;
    });
    await vi.advanceTimersByTimeAsync(29_999);
    expect(isWritten).toBe(false);
    socket.drain();
    await write;
    expect(socket.destroyed).toBe(false);
    expect(socket.listenerCount('drain')).toBe(0);
  });

  it('may take its time for a large event, as long as it takes some of it', async () => {
    const { socket, stream } = setUp();
    socket.isFull = true;
    const json = `{"delta":"${'ä'.repeat(200_000)}"}`;
    const write = stream.write([{ type: 'response.output_text.delta', sequenceNumber: 5, json }]);
    const frame = Buffer.from(`event: response.output_text.delta\ndata: ${json}\n\n`);
    const slices = Math.ceil(frame.length / (64 * 1024));
    for (let taken = 1; taken <= slices; taken += 1) {
      await vi.advanceTimersByTimeAsync(29_000);
      expect(socket.writes).toHaveLength(taken);
      socket.emit('drain');
    }
    await write;
    expect(Buffer.concat(socket.writes.map((each) => Buffer.from(each)))).toEqual(frame);
    expect(socket.destroyed).toBe(false);
  });

  it('is closed when it takes nothing for thirty seconds', async () => {
    const { socket, stream } = setUp();
    socket.isFull = true;
    const write = stream.write([event(0)]);
    const rejected = expect(write).rejects.toThrow(/took nothing/);
    await vi.advanceTimersByTimeAsync(30_001);
    await rejected;
    expect(socket.destroyed).toBe(true);
    expect(stream.gone.aborted).toBe(true);
    stream.cut();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a reader that is gone', () => {
  it('ends a write that waits for it', async () => {
    const { socket, stream } = setUp();
    socket.isFull = true;
    const rejected = expect(stream.write([event(0)])).rejects.toThrow(/closed the connection/);
    socket.emit('close');
    await rejected;
    stream.cut();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is written nothing more', async () => {
    const { socket, stream } = setUp();
    socket.destroy();
    await expect(stream.write([event(0)])).rejects.toThrow(/closed the connection/);
    vi.advanceTimersByTime(120_000);
    stream.end();
    expect(socket).toMatchObject({ writes: [], ended: undefined });
  });

  it('before the stream began is noticed', () => {
    const socket = new FakeSocket();
    socket.destroyed = true;
    const stream = new SseStream(socket as unknown as ServerResponse, {}); // as above
    expect(stream.gone.aborted).toBe(true);
  });

  it('by an error of the connection is gone as well', () => {
    const { socket, stream } = setUp();
    socket.emit('error', new Error('EPIPE'));
    expect(stream.gone.aborted).toBe(true);
  });

  it('ends as usual for readers that come back, and is cut for those that cannot take more', () => {
    const framing = { frames: () => '', readersReturn: true };
    const one = setUp({}, framing);
    one.stream.cut();
    expect(one.socket).toMatchObject({ isOver: true, destroyed: false });
    const other = setUp({}, framing);
    other.socket.isFull = true;
    other.stream.cut();
    expect(other.socket).toMatchObject({ isOver: false, destroyed: true });
  });
});
