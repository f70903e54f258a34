import { stream } from '@durable-streams/client';
import { checkEventGrammar, eventually, readSse, within } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

type Event = { type: string; sequence_number: number } & Record<string, unknown>;

const api = eachTestApi({ longPollMs: 2_000 });

async function read(id: string, query = '', headers: Record<string, string> = {}) {
  const answer = await api.fetch(`/v1/responses/${id}/events${query}`, { headers });
  const text = await answer.text();
  const position = (name: string) => answer.headers.get(`stream-${name}`);
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    events: () => JSON.parse(text) as Event[],
    next: position('next-offset') ?? '',
    isUpToDate: position('up-to-date') === 'true',
    isClosed: position('closed') === 'true',
    cursor: position('cursor'),
  };
}

/** What the stream of the Responses API shows of a response. */
async function shown(id: string, mount = '/v1'): Promise<unknown[]> {
  const answer = await api.fetch(`${mount}/responses/${id}?stream=true`);
  return (await readSse(await answer.text())).events;
}

/** Starts a response in the background as a stream, and leaves the stream. */
async function startTalk() {
  const { begun, goOn } = api.worker.hold();
  const leaving = new AbortController();
  const answer = await api.stream({ model, input: 'Hi', background: true }, { signal: leaving.signal });
  const reader = answer.body?.getReader();
  const first = await reader?.read();
  const id = /create-response_\w+/.exec(new TextDecoder().decode(first?.value))?.[0] ?? '';
  leaving.abort();
  // Tests wait for the request that they make next.
  await eventually(() => api.open.size === 0);
  const run = await begun.wait();
  return { id, say: () => run.say('word '), end: () => goOn.open() };
}

async function finished(mount = '/v1'): Promise<string> {
  const answer = await api.stream({ model, input: 'Hi' }, { mount });
  await answer.text();
  return api.worker.runs.at(-1)?.record.id ?? '';
}

describe('reading what there is', () => {
  it.each(['/v1', '/api/v1'])('shows at %s the events that a stream there shows', async (mount) => {
    const id = await finished(mount);
    const answer = await api.get(`${mount}/responses/${id}/events`);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'stream-up-to-date': 'true',
      'stream-closed': 'true',
    });
    const events = JSON.parse(answer.text) as unknown[];
    expect(events).toEqual(await shown(id, mount));
    expect(checkEventGrammar(events)).toEqual([]);
  });

  it('goes on behind any offset', async () => {
    const id = await finished();
    const all = (await read(id)).events();
    for (let from = 0; from <= all.length; from += 1) {
      const offset = String(from).padStart(16, '0');
      const rest = await read(id, `?offset=${offset}`);
      expect(rest.events()).toEqual(all.slice(from));
      expect(rest).toMatchObject({ isClosed: true, next: String(all.length).padStart(16, '0') });
    }
  });

  it('comes in pages of a bounded size, of which the last one is closed', async () => {
    api.worker.onRun(async (run) => {
      for (let word = 0; word < 60; word += 1) run.say('x'.repeat(16_000));
      await run.complete();
    });
    const id = await finished();
    const events: Event[] = [];
    let pages = 0;
    for (let offset = '-1', isClosed = false; !isClosed; pages += 1) {
      const page = await read(id, `?offset=${offset}`);
      expect(page.isUpToDate).toBe(page.isClosed);
      events.push(...page.events());
      ({ next: offset, isClosed } = page);
    }
    expect(pages).toBeGreaterThan(5);
    expect(events).toEqual(await shown(id));
  });

  it('repeats a large request page by page, and holds nothing of it afterwards', async () => {
    const instructions = 'x'.repeat(200_000);
    const answer = await api.stream({ model, input: 'Hi', instructions });
    await answer.text();
    const id = api.worker.runs.at(-1)?.record.id ?? '';
    const events: Event[] = [];
    let largest = 0;
    for (let offset = '-1', isClosed = false; !isClosed; ) {
      const page = await read(id, `?offset=${offset}`);
      largest = Math.max(largest, page.text.length);
      events.push(...page.events());
      ({ next: offset, isClosed } = page);
    }
    expect(events).toEqual(await shown(id));
    expect(events[0]).toMatchObject({ response: { instructions } });
    expect(largest).toBeLessThan(256 * 1024 + 210_000);
    expect((await read(id, '?offset=-1&live=sse')).text).toContain('streamClosed');
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('is not up to date before it is, and not closed before the end', async () => {
    const { id, say, end } = await startTalk();
    say();
    const open = await eventually(async () => {
      const page = await read(id);
      return page.text.includes('word') ? page : undefined;
    });
    expect(open).toMatchObject({ isUpToDate: true, isClosed: false });
    expect(await read(id, `?offset=${open.next}`)).toMatchObject({ text: '[]', next: open.next });
    end();
  });

  it('from now on shows nothing, and where that is', async () => {
    const id = await finished();
    const { next } = await read(id);
    expect(await read(id, '?offset=now')).toMatchObject({
      text: '[]',
      next,
      isUpToDate: true,
      isClosed: true,
    });
    expect((await read(id, '?offset=now')).headers.get('etag')).toBeNull();
  });

  it('answers 304 to a reader that names what it has', async () => {
    const id = await finished();
    const etag = (await read(id)).headers.get('etag') ?? '';
    expect(await read(id, '', { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
    expect(await read(id, '?offset=0000000000000001', { 'if-none-match': etag })).toMatchObject({
      status: 200,
    });
  });

  it('derives the events of a response that was not created as a stream', async () => {
    const { id } = (await api.create({ model, input: 'Hi' })).json();
    expect((await read(String(id))).events()).toEqual(await shown(String(id)));
    expect(await read(String(id), '?offset=now')).toMatchObject({
      isClosed: true,
      next: (await read(String(id))).next,
    });
  });

  it('answers HEAD with the position alone', async () => {
    const id = await finished();
    const answer = await api.fetch(`/v1/responses/${id}/events`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('stream-next-offset')).toBe((await read(id)).next);
    expect(answer.headers.get('stream-closed')).toBe('true');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('knows neither the responses of others nor those that are gone', async () => {
    const id = await finished();
    for (const query of ['', '?offset=-1&live=sse', '?offset=-1&live=long-poll']) {
      const foreign = await api.get(`/v1/responses/${id}/events${query}`, apiKeys.second);
      expect(foreign.status).toBe(404);
      expect(foreign.text).toBe((await api.get(`/v1/responses/create-response_x/events${query}`)).text);
    }
  });

  it('is 410 once the events are no longer kept', async () => {
    const id = await finished();
    await api.redis.client.del(`${api.keys.prefix}log:${id}`);
    for (const query of ['', '?offset=now', '?offset=-1&live=sse', '?offset=-1&live=long-poll']) {
      expect(await read(id, query)).toMatchObject({ status: 410 });
    }
  });

  it.each(['PUT', 'POST', 'DELETE'])('does not take %s', async (method) => {
    const id = await finished();
    const answer = await api.fetch(`/v1/responses/${id}/events`, { method });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('a long-poll', () => {
  it('is answered at once with what there is, and that the stream is closed', async () => {
    const id = await finished();
    const all = await read(id, '?offset=-1&live=long-poll');
    expect(all).toMatchObject({ status: 200, isClosed: true });
    const end = await read(id, `?offset=${all.next}&live=long-poll`);
    expect(end).toMatchObject({ status: 204, text: '', isClosed: true, isUpToDate: true, next: all.next });
  });

  it('is answered as soon as an event comes', async () => {
    const { id, say, end } = await startTalk();
    const { next } = await eventually(async () => {
      const page = await read(id);
      return page.events().length === 3 ? page : undefined;
    });
    const polled = read(id, `?offset=${next}&live=long-poll`);
    await eventually(() => api.open.size === 1);
    say();
    const answer = await polled;
    expect(answer).toMatchObject({ status: 200, isClosed: false });
    expect(answer.events()[0]).toMatchObject({ sequence_number: 3 });
    expect(Number(answer.cursor)).toBeGreaterThan(0);
    end();
  });

  it('is 204 for a reader that begins now, once the stream is closed', async () => {
    const id = await finished();
    expect(await read(id, '?offset=now&live=long-poll')).toMatchObject({ status: 204, isClosed: true });
  });

  it('is answered with 204 when nothing comes in time', async () => {
    const { id, end } = await startTalk();
    const { next } = await read(id);
    const answer = await read(id, `?offset=now&live=long-poll&cursor=999999999`);
    expect(answer).toMatchObject({ status: 204, isUpToDate: true, isClosed: false, next });
    expect(Number(answer.cursor)).toBeGreaterThan(999_999_999);
    end();
  });

  it('keeps a response in the foreground alive, between two of them as well', async () => {
    const { begun, goOn } = api.worker.hold();
    const leaving = new AbortController();
    const answer = await api.stream({ model, input: 'Hi' }, { signal: leaving.signal });
    const { id } = (await begun.wait()).record;
    const { next } = await eventually(async () => {
      const page = await read(id);
      return page.events().length === 3 ? page : undefined;
    });
    const attach = vi.spyOn(api.store, 'attach');
    const polled = read(id, `?offset=${next}&live=long-poll`);
    await eventually(() => attach.mock.results[0]);
    await attach.mock.results[0]?.value;
    leaving.abort();
    await answer.text().catch(() => undefined);
    expect((await polled).status).toBe(204);
    expect((await api.get(`/v1/responses/${id}`)).json()).toMatchObject({ status: 'in_progress' });
    goOn.open();
    const rest = await read(id, `?offset=${next}&live=long-poll`);
    expect(rest.events().at(-1)).toMatchObject({ type: 'response.completed' });
  });

  it('is answered when the process stops', async () => {
    await api.start({ longPollMs: 60_000, isKept: false });
    const { id, end } = await startTalk();
    const polled = read(id, '?offset=now&live=long-poll');
    await eventually(() => api.open.size === 1);
    await within(api.open.drain(0));
    expect(await polled).toMatchObject({ status: 204, isClosed: false });
    end();
  });
});

describe('an event stream', () => {
  const controls = (text: string) =>
    [...text.matchAll(/event: control\ndata: (.*)\n\n/g)].map(
      ([, data]) => JSON.parse(data ?? '') as unknown,
    );

  it('is not to be stored, and ends with the word that the stream is closed', async () => {
    const id = await finished();
    const answer = await read(id, '?offset=-1&live=sse');
    expect(answer.headers.get('cache-control')).toContain('no-store');
    const { next } = await read(id);
    expect(controls(answer.text).at(-1)).toEqual({
      streamNextOffset: next,
      streamClosed: true,
      upToDate: true,
    });
  });

  it('from now on says first where that is, or that there is nothing to come', async () => {
    const id = await finished();
    const { next } = await read(id);
    const closed = await read(id, '?offset=now&live=sse');
    expect(controls(closed.text)).toEqual([{ streamNextOffset: next, streamClosed: true, upToDate: true }]);
    expect(closed.text).not.toContain('event: data');
    const { id: open, end } = await startTalk();
    const reading = read(open, '?offset=now&live=sse');
    await eventually(() => api.open.size === 1);
    end();
    expect(controls((await reading).text)[0]).toMatchObject({ upToDate: true });
  });

  it('ends in good order when the process stops, so that its reader comes back', async () => {
    await api.start({ isKept: false });
    const { id, end } = await startTalk();
    const reading = read(id, '?offset=-1&live=sse');
    await eventually(() => api.open.size === 1);
    await within(api.open.drain(0));
    expect((await reading).text).not.toContain('streamClosed');
    end();
  });

  it('whose reader leaves ends a response in the foreground', async () => {
    const { begun } = api.worker.hold();
    const first = new AbortController();
    const answer = await api.stream({ model, input: 'Hi' }, { signal: first.signal });
    const { id } = (await begun.wait()).record;
    const second = new AbortController();
    const reading = await api.fetch(`/v1/responses/${id}/events?offset=-1&live=sse`, {
      signal: second.signal,
    });
    first.abort();
    await answer.text().catch(() => undefined);
    await eventually(() => api.open.size === 1);
    expect((await api.get(`/v1/responses/${id}`)).json()).toMatchObject({ status: 'in_progress' });
    second.abort();
    await reading.text().catch(() => undefined);
    await eventually(async () => (await api.get(`/v1/responses/${id}`)).json()['status'] === 'cancelled');
  });
});

describe('the official client', () => {
  const follow = async (
    id: string,
    live: 'long-poll' | 'sse' | false,
    options: Parameters<typeof stream>[0] | object = {},
  ) =>
    stream<Event>({
      url: `${await api.listen()}/v1/responses/${id}/events`,
      headers: { authorization: `Bearer ${apiKeys.first}` },
      live,
      json: true,
      warnOnHttp: false,
      ...options,
    });

  it.each(['long-poll', 'sse', false] as const)('reads a whole response with live: %s', async (live) => {
    const id = await finished();
    const answer = await follow(id, live);
    expect(await answer.json()).toEqual(await shown(id));
    expect(answer.streamClosed).toBe(true);
  });

  it.each(['long-poll', 'sse'] as const)('goes on from an offset with live: %s', async (live) => {
    const id = await finished();
    const answer = await follow(id, live, { offset: '0000000000000004' });
    expect(await answer.json()).toEqual((await shown(id)).slice(4));
  });

  it.each(['long-poll', 'sse'] as const)('follows a response that runs with live: %s', async (live) => {
    const { id, say, end } = await startTalk();
    const events: Event[] = [];
    const answer = await follow(id, live);
    const closed = (async () => {
      for await (const event of answer.jsonStream()) {
        events.push(event);
        if (event.type === 'response.in_progress') say();
        if (event.type === 'response.output_text.delta') end();
      }
    })();
    await within(closed);
    expect(events).toEqual(await shown(id));
  });

  it('goes on over a connection that drops with live: long-poll', async () => {
    const { id, say, end } = await startTalk();
    const events: Event[] = [];
    const answer = await follow(id, 'long-poll');
    const closed = (async () => {
      for await (const event of answer.jsonStream()) events.push(event);
    })();
    say();
    await eventually(() => deltasIn(events) === 1);
    await eventually(() => api.open.size === 1);
    api.app.server.closeAllConnections();
    say();
    await eventually(() => deltasIn(events) === 2);
    end();
    await within(closed);
    expect(events).toEqual(await shown(id));
  });

  it('goes on from its offset after a connection that drops with live: sse', async () => {
    const { id, say, end } = await startTalk();
    const events: Event[] = [];
    const first = await follow(id, 'sse');
    const broken = (async () => {
      for await (const event of first.jsonStream()) events.push(event);
    })();
    first.closed.catch(() => undefined);
    const isBroken = expect(broken).rejects.toThrow('terminated');
    say();
    await eventually(() => deltasIn(events) === 1);
    // The client reads the position behind the event a moment after it.
    await eventually(() => Number(first.offset) === events.length);
    api.app.server.closeAllConnections();
    await isBroken;
    say();
    end();
    const second = await follow(id, 'sse', { offset: first.offset });
    for await (const event of second.jsonStream()) events.push(event);
    expect(events).toEqual(await shown(id));
  });
});

function deltasIn(events: readonly Event[]): number {
  return events.filter(({ type }) => type === 'response.output_text.delta').length;
}
