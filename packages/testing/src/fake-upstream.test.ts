import { afterEach, describe, expect, it } from 'vitest';
import { startFakeUpstream, type FakeUpstream } from './fake-upstream.ts';
import { eventually, latch } from './wait-until.ts';

let open: FakeUpstream | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function upstream(): Promise<FakeUpstream> {
  open = await startFakeUpstream();
  return open;
}

function post(url: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body: JSON.stringify({ model: 'm' }), ...init });
}

describe('fake upstream', () => {
  it('records what arrived', async () => {
    const server = await upstream();
    server.onResponses(({ json }) => json(200, { ok: true }, { 'x-request-id': 'r1' }));
    const answer = await post(`${server.baseUrl}/responses`, { headers: { authorization: 'Bearer k' } });
    expect(answer.headers.get('x-request-id')).toBe('r1');
    expect(await answer.json()).toEqual({ ok: true });
    const request = await server.request(0);
    expect(request).toMatchObject({ method: 'POST', path: '/v1/responses', body: { model: 'm' } });
    expect(request.headers['authorization']).toBe('Bearer k');
    expect(await request.ended).toBe('answered');
  });

  it('streams chunks when the test says', async () => {
    const server = await upstream();
    const goOn = latch();
    server.onChatCompletions(async ({ stream }) => {
      const events = stream();
      await events.send({ n: 1 });
      await goOn.wait();
      await events.event('last', { n: 2 });
      events.done();
    });
    const answer = await post(`${server.baseUrl}/chat/completions`);
    const reader = bodyOf(answer).pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('data: {"n":1}\n\n');
    goOn.open();
    let rest = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += part.value;
    expect(rest).toBe('event: last\ndata: {"n":2}\n\ndata: [DONE]\n\n');
  });

  it('cuts a stream so that the caller sees an error', async () => {
    const server = await upstream();
    server.onChatCompletions(async ({ stream }) => {
      const events = stream();
      await events.send({ n: 1 });
      events.cut();
    });
    await expect(
      post(`${server.baseUrl}/chat/completions`).then((answer) => answer.text()),
    ).rejects.toThrow();
    expect(await (await server.request(0)).ended).toBe('cut');
  });

  it('ends a stream cleanly without its last word', async () => {
    const server = await upstream();
    server.onChatCompletions(({ stream }) => stream().end());
    expect(await (await post(`${server.baseUrl}/chat/completions`)).text()).toBe('');
  });

  it('tells when the caller leaves', async () => {
    const server = await upstream();
    server.onChatCompletions(({ hang }) => hang());
    const controller = new AbortController();
    const call = post(`${server.baseUrl}/chat/completions`, { signal: controller.signal });
    const request = await server.request(0);
    expect(server.openSockets).toBe(1);
    controller.abort();
    await expect(call).rejects.toThrow();
    expect(await request.ended).toBe('aborted');
    await eventually(() => server.openSockets === 0);
  });

  it('answers 404 where no handler is', async () => {
    const server = await upstream();
    expect((await fetch(`${server.baseUrl}/models`)).status).toBe(404);
  });

  it('rejects its close with what a handler threw', async () => {
    const server = await startFakeUpstream();
    server.onResponses(() => {
      throw new Error('wrong request');
    });
    await expect(post(`${server.baseUrl}/responses`)).rejects.toThrow();
    await expect(server.close()).rejects.toMatchObject({ errors: [new Error('wrong request')] });
  });
});

function bodyOf(answer: Response): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (answer.body === null) throw new Error('no body');
  return answer.body;
}
