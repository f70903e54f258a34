import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  eventually,
  type FakeUpstream,
  latch,
  startFakeUpstream,
  type UpstreamHandler,
} from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Provider, type ProviderChunk, ProviderError, type ReadPace } from '../provider.ts';
import { createProvider, type ProviderSettings, type ProviderTimeouts } from '../registry.ts';
import {
  all,
  sending,
  chat,
  request,
  responses,
  run,
  send,
  timeouts,
  tools,
} from '../../test/upstream-wires.ts';

/** Bytes of buffers that something still needs. */
function externalBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)(); // what the flag puts into new contexts
  return process.memoryUsage().arrayBuffers;
}

describe.each([chat, responses])('the upstream of $type', (wire) => {
  let upstream: FakeUpstream;
  const providers: Provider[] = [];
  beforeEach(async () => {
    upstream = await startFakeUpstream();
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.close()));
    await upstream.close();
  });

  function made(
    more: Partial<ProviderTimeouts> & {
      baseUrl?: string;
      address?: string;
      apiKey?: string;
      apiKeyVariable?: string;
    } = {},
  ): Provider {
    const settings = {
      type: wire.type,
      id: 'up',
      baseUrl: upstream.baseUrl,
      ...more,
    } satisfies ProviderSettings;
    const provider = createProvider(settings, timeouts);
    providers.push(provider);
    return provider;
  }

  const answer = (handler: UpstreamHandler) => wire.handle(upstream, handler);
  const failure = (asked: Provider = made()) =>
    all(run(asked, request({ tools }))).then(
      () => undefined,
      (error: unknown) => error,
    );
  const broken = { code: 'upstream_error', disposition: 'retry' };

  it('is called at an address in place of that of its name, under its name', async () => {
    answer(({ json }) => json(500, {}));
    const name = `models.invalid:${new URL(upstream.url).port}`;
    const asked = made({ baseUrl: `http://${name}/v1`, address: '127.0.0.1' });
    expect(await failure(asked)).toMatchObject({ fault: 'refused', upstreamStatus: 500 });
    expect(upstream.requests[0]?.headers.host).toBe(name);
  });

  it('is sent the key and asked for an event stream without encoding', async () => {
    answer(sending(wire.finish('stop')));
    await all(run(made({ apiKey: 'k1' }), request()));
    expect(upstream.requests[0]).toMatchObject({
      headers: {
        authorization: 'Bearer k1',
        accept: 'text/event-stream',
        'accept-encoding': 'identity',
        'content-type': 'application/json',
      },
      body: { model: 'm', stream: true },
    });
  });

  it('is sent a long request whole, which is printed piece by piece', async () => {
    answer(sending(wire.finish('stop')));
    const text = 'é'.repeat(4 * 1024 * 1024);
    const printing = vi.spyOn(JSON, 'stringify');
    try {
      await all(run(made(), request({ input: [{ type: 'message', role: 'user', content: text }] })));
      const lengths = printing.mock.results.map(({ value }) => String(value).length);
      expect(Math.max(...lengths)).toBeLessThan(512 * 1024);
    } finally {
      printing.mockRestore();
    }
    expect(JSON.stringify(upstream.requests[0]?.body).includes(text)).toBe(true);
  });

  it('leaves nothing of a long request in memory while it answers', async () => {
    const isOver = latch();
    answer(async ({ stream }) => {
      const out = stream();
      await send(out, [wire.text('Hi')]);
      await isOver.wait();
      await send(out, wire.finish('stop'));
      out.done();
    });
    const before = externalBytes();
    const text = 'x'.repeat(8 * 1024 * 1024);
    const asked = run(made(), request({ input: [{ type: 'message', role: 'user', content: text }] }));
    await asked.next();
    await eventually(() => expect(externalBytes() - before).toBeLessThan(text.length / 2));
    isOver.open();
    await all(asked);
  });

  it('is not called without the key that its variable should hold, and counts as one that refuses', async () => {
    const error = await failure(made({ apiKeyVariable: 'UPSTREAM_UP' }));
    expect(error).toMatchObject({
      ...broken,
      fault: 'refused',
      message: expect.stringContaining('UPSTREAM_UP'),
    });
    expect(upstream.requests).toEqual([]);
  });

  it('keeps its connections for the next calls', async () => {
    answer(sending([wire.text('a'), ...wire.finish('stop')]));
    const provider = made();
    for (let at = 0; at < 8; at += 1) await all(run(provider, request()));
    expect(upstream.requests).toHaveLength(8);
    // A call that begins before the last bytes of the one before it have come needs a connection of its own.
    expect(upstream.openSockets).toBeLessThan(4);
  });

  it('is paced by every event, also by those that say nothing', async () => {
    answer(sending([wire.text('a'), ...Array.from({ length: 5 }, () => ({})), ...wire.finish('stop')]));
    const told: boolean[] = [];
    const pace: ReadPace = {
      took: (_characters, { hasOutput }) => void told.push(hasOutput),
      readAhead: () => undefined,
    };
    const call = { model: 'm', signal: new AbortController().signal, responseId: 'r', attempt: 1, pace };
    await all(made().generate(request(), call));
    expect(told.slice(0, 6)).toEqual([true, false, false, false, false, false]);
  });

  it('is left when its pace says that there were too many events', async () => {
    const left = latch();
    answer(async ({ stream, signal }) => {
      const out = stream();
      while (!signal.aborted) await out.send({});
      left.open();
    });
    let events = 0;
    const tooMany = new ProviderError('upstream_error', 'too many', { disposition: 'fail' });
    const pace: ReadPace = {
      took: () => {
        events += 1;
        if (events > 100) throw tooMany;
        return undefined;
      },
      readAhead: () => undefined,
    };
    const call = { model: 'm', signal: new AbortController().signal, responseId: 'r', attempt: 1, pace };
    await expect(all(made().generate(request(), call))).rejects.toBe(tooMany);
    await left.wait();
  });

  it('has finished once it said so, even when it never ends its stream', async () => {
    const released = latch();
    answer(async ({ stream, hang }) => {
      await send(stream(), [wire.text('a'), ...wire.finish('stop')]);
      await hang();
      released.open();
    });
    expect((await all(run(made({ idleMs: 100 }), request()))).at(-1)).toEqual({
      type: 'finish',
      reason: 'stop',
    });
    await released.wait();
  });

  it('has finished once it said so, even when the connection breaks then', async () => {
    answer(sending([wire.text('a'), ...wire.finish('stop')], 'cut'));
    // The reset may overtake what the kernel still holds; then it is a break in the middle like any other.
    const outcome = await all(run(made(), request())).then((chunks) => chunks.at(-1), String);
    expect([{ type: 'finish', reason: 'stop' }, expect.stringContaining('ProviderError')]).toContainEqual(
      outcome,
    );
  });

  it.each<[string, UpstreamHandler]>([
    ['a reset before the answer', ({ cut }) => cut()],
    ['a reset in the middle', sending([wire.text('a')], 'cut')],
    ['an end without a finish', sending([wire.text('a')], 'end')],
    ['an end marker without a finish', sending([wire.text('a')])],
    ['an end without anything', ({ stream }) => stream().end()],
    ['a page of HTML', ({ text }) => text(200, 'text/html', '<html>Welcome</html>')],
    ['an answer that is no stream', ({ json }) => json(200, { choices: [] })],
    ['an answer without a type', ({ text }) => text(200, '', 'data: {}\n\n')],
    [
      'a compressed answer',
      ({ text }) => text(200, 'text/event-stream', 'x', { 'content-encoding': 'gzip' }),
    ],
    [
      'a malformed chunk',
      async ({ stream }) => {
        const out = stream();
        await out.raw('data: {"choices":[{\n\n');
        await send(out, wire.finish('stop'));
        out.done();
      },
    ],
    ['an error object in the stream', sending([wire.text('a'), wire.error, ...wire.finish('stop')])],
    ['a status of its own fault', ({ json }) => json(503, {})],
  ])('fails on %s', async (_, handler) => {
    answer(handler);
    const error = await failure();
    expect(error).toMatchObject(broken);
    expect(String(error)).not.toMatch(/secret|127\.0\.0\.1/);
  });

  it('tells an upstream that cannot be reached from one that took the request', async () => {
    answer(({ cut }) => cut());
    expect(await failure()).toMatchObject({ ...broken, fault: 'broken' });
    await upstream.close();
    expect(await failure()).toMatchObject({ ...broken, fault: 'unreachable' });
  });

  it('tells how long it is overloaded', async () => {
    answer(({ json }) => json(429, { error: {} }, { 'retry-after': '3', 'x-request-id': 'req-9' }));
    expect(await failure()).toMatchObject({
      code: 'server_is_overloaded',
      disposition: 'retry',
      retryAfterMs: 3000,
      upstreamStatus: 429,
      upstreamRequestId: 'req-9',
    });
  });

  it.each([
    [400, { error: { code: 'context_length_exceeded' } }, 'context_length_exceeded'],
    [422, {}, 'invalid_prompt'],
    [401, {}, 'upstream_error'],
  ])('is not tried again after status %i', async (status, body, code) => {
    answer(({ json }) => json(status, body));
    expect(await failure()).toMatchObject({ code, disposition: 'fail', upstreamStatus: status });
  });

  it('is not tried again when it sent an event that is too large, and is hung up on', async () => {
    answer(async ({ stream, hang }) => {
      void stream().raw(`data: {"filler":"${'x'.repeat(3 * 1024 * 1024)}"}\n\n`);
      await hang();
    });
    const error = await failure();
    expect(error).toMatchObject({ code: 'upstream_error', disposition: 'fail' });
    expect(error).toHaveProperty(
      'publicMessage',
      expect.stringMatching(/^The model server sent an event of more than 10\d+ bytes\.$/),
    );
    expect(String(error)).not.toContain('127.0.0.1');
    expect(await (await upstream.request(0)).ended).toBe('aborted');
  });

  it('is not followed to another place', async () => {
    answer(({ json }) => json(307, {}, { location: `${upstream.url}/elsewhere` }));
    expect(await failure()).toMatchObject({ code: 'upstream_error', disposition: 'fail' });
    expect(upstream.requests).toHaveLength(1);
  });

  it('fails when the connection takes too long to stand', async () => {
    // A plain server under an https address: the handshake is never answered with one.
    const mute = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = mute.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const provider = made({ baseUrl: `https://127.0.0.1:${port}/v1`, connectMs: 100 });
    expect(await failure(provider)).toMatchObject({
      ...broken,
      message: expect.stringContaining('took too long to connect'),
    });
    await provider.close();
    await new Promise((resolve) => mute.close(resolve));
  });

  it('fails when the first token takes too long, whatever comments say', async () => {
    let comments = 0;
    answer(async ({ stream, hang, signal }) => {
      const out = stream();
      const timer = setInterval(() => {
        comments += 1;
        void out.raw(': still here\n\n');
      }, 20);
      signal.addEventListener('abort', () => clearInterval(timer), { once: true });
      await hang();
    });
    expect(await failure(made({ firstTokenMs: 150 }))).toMatchObject({
      ...broken,
      message: expect.stringContaining('took too long to send a first token'),
    });
    expect(comments).toBeGreaterThan(0);
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });

  it('fails when it falls silent, with all that it has said before', async () => {
    answer(async ({ stream, hang }) => {
      const out = stream();
      for (let at = 0; at < 8; at += 1) await out.send(wire.text('a'));
      await hang();
    });
    const chunks: ProviderChunk[] = [];
    const failing = all(run(made({ idleMs: 1_000 }), request()), chunks);
    await expect(failing).rejects.toMatchObject({
      ...broken,
      message: expect.stringContaining('fell silent'),
    });
    expect(chunks).toHaveLength(8);
  });

  it('is held up by a slow consumer instead of filling the memory', async () => {
    const sent = { bytes: 0 };
    const piece = 'x'.repeat(64 * 1024);
    answer(async ({ stream, signal }) => {
      const out = stream();
      await out.send(wire.text('first'));
      while (!signal.aborted && sent.bytes < 512 * 1024 * 1024) {
        await out.send(wire.text(piece));
        sent.bytes += piece.length;
      }
    });
    const stream = run(made(), request());
    await stream.next();
    // Everything the upstream can send without being read fits into the sockets and one queue. Both ends are in this process, so
    // what has not moved for so many turns of the event loop does not move by itself.
    let before = -1;
    while (sent.bytes !== before) {
      before = sent.bytes;
      for (let turns = 0; turns < 1_000; turns += 1) await turn();
    }
    expect(sent.bytes).toBeLessThan(128 * 1024 * 1024);
    await stream.return(undefined);
    expect(await upstream.requests[0]?.ended).toBe('aborted');
  });

  it('answers a request that is printed while the provider closes, and none after it', async () => {
    answer(sending(wire.finish('stop')));
    const provider = made();
    const input = [{ type: 'message', role: 'user', content: 'x'.repeat(4 * 1024 * 1024) }];
    const chunks = all(run(provider, request({ input })));
    expect(upstream.requests).toEqual([]);
    const closed = provider.close();
    expect((await chunks).at(-1)).toEqual({ type: 'finish', reason: 'stop' });
    await closed;
    expect(await failure(provider)).toMatchObject({ ...broken, message: "Provider 'up' is closed." });
    expect(upstream.requests).toHaveLength(1);
  });

  it('lets the provider close whose call is given up while its request is printed', async () => {
    const provider = made();
    const input = [{ type: 'message', role: 'user', content: 'x'.repeat(4 * 1024 * 1024) }];
    const left = new AbortController();
    const refused = expect(all(run(provider, request({ input }), left.signal))).rejects.toThrow('left');
    const closed = provider.close();
    left.abort(new Error('left'));
    await refused;
    await closed;
    expect(upstream.requests).toEqual([]);
  });
});
