import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { within } from '@sluice/testing';
import { completed, type OutputItem } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { offsetOf } from '../src/durable-stream.ts';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const text = 'Say "this" again.\n'.repeat(20_000);
const content = [{ type: 'output_text' as const, text, annotations: [], logprobs: [] }];
const output: OutputItem[] = [
  { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content },
];

// Room for one such answer of a tenant at a time, and not for two.
const api = eachTestApi({
  bodyBytes: 2_000,
  bodyBytesInFlight: 1_200_000,
  withoutWorker: true,
  isKept: false,
});

/** A stored response with that answer, which nobody streamed. */
async function longAnswer(request: object = {}): Promise<string> {
  const { id } = (await api.create({ model, input: 'Hi', background: true, ...request })).json();
  const end = completed({ output, usage: null }, 1_700_000_000);
  const result = JSON.stringify({ id, sequence_number: 3, ...end });
  const { client } = api.redis;
  await client.hset(api.keys.record(String(id)), { status: 'completed', result, started_at: 1 });
  return String(id);
}

const get = (path: string, signal?: AbortSignal) =>
  api.fetch(`/v1/responses${path.startsWith('?') ? '' : '/'}${path}`, { ...(signal && { signal }) });

/** The connection of a reader who takes nothing of an answer that has begun. */
async function unreadAnswer(path: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(await api.listen()).port), host: '127.0.0.1' });
  const lines = [
    `GET /v1/responses/${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${apiKeys.first}`,
  ];
  socket.write([...lines, '', ''].join('\r\n'));
  await within(once(socket, 'readable'));
  return socket;
}

describe('a long answer', () => {
  it('is what was stored, as a body, in a list, as a page of events and as a stream', async () => {
    const id = await longAnswer();
    const answer = await get(id);
    const body = await answer.text();
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
    const response = JSON.parse(body) as Record<string, unknown>;
    expect(response).toMatchObject({
      id,
      object: 'response',
      status: 'completed',
      output,
      output_text: text,
    });
    const listed = (await (await get('?limit=1')).json()) as { data?: unknown; error?: unknown };
    expect(listed.error).toBeUndefined();
    expect(listed.data).toEqual([response]);
    const streamed = await (await get(`${id}?stream=true`)).text();
    const events = streamed.split('\n\n').flatMap((frame) => {
      const data = /^data: (\{.*)$/m.exec(frame)?.[1];
      return data === undefined ? [] : [data];
    });
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ type: 'response.completed', response });
    const pages: string[] = [];
    for (let offset = '-1'; ; ) {
      const page = await get(`${id}/events?offset=${offset}`);
      pages.push(...((await page.json()) as unknown[]).map((event) => JSON.stringify(event)));
      offset = page.headers.get('stream-next-offset') ?? '';
      if (page.headers.get('stream-closed') === 'true') break;
    }
    expect(pages).toEqual(events);
    const end = await get(`${id}/events?offset=now`);
    expect(Number(end.headers.get('stream-next-offset'))).toBe(events.length);
    expect(api.store.openEnds).toBe(0);
    expect(api.bodyBudget.held).toBe(0);
  });

  it('that readers share is held once, and answers others meanwhile', async () => {
    const id = await longAnswer();
    const bytes = (await api.store.read(id))?.longEndBytes ?? 0;
    const leaving = new AbortController();
    // Nobody reads the bodies, so all of them are under way.
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => get(at % 2 === 0 ? id : `${id}?stream=true`, leaving.signal)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(api.bodyBudget.held).toBeLessThanOrEqual(bytes);
    const neighbour = await api.create({ model, input: 'Hi', background: true }, { key: apiKeys.second });
    expect(neighbour.status).toBe(200);
    leaving.abort();
    await expect.poll(() => [api.bodyBudget.held, api.store.openEnds]).toEqual([0, 0]);
  });

  it('to a long request is held for each reader as far as they do not share it', async () => {
    await api.start({ bodyBytes: 12_000_000, bodyBytesInFlight: 80_000_000, withoutWorker: true });
    // More than the buffers of both sockets take.
    const instructions = 'Be brief. '.repeat(1_000_000);
    const id = await longAnswer({ instructions });
    const bytes = (await api.store.read(id))?.longEndBytes ?? 0;
    // The page that ends with it; the events before it repeat the request as well.
    const next = Number((await get(`${id}/events?offset=now`)).headers.get('stream-next-offset'));
    const sockets: Socket[] = [];
    for (const path of [id, `${id}/events?offset=${offsetOf(next - 1)}`]) {
      const held = Math.max(api.bodyBudget.held, bytes);
      sockets.push(await unreadAnswer(path));
      expect(api.bodyBudget.held).toBeGreaterThanOrEqual(held + instructions.length);
    }
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => [api.bodyBudget.held, api.store.openEnds]).toEqual([0, 0]);
    expect(await (await get(id)).json()).toMatchObject({ instructions, output });
    await expect.poll(() => [api.bodyBudget.held, api.store.openEnds]).toEqual([0, 0]);
  });

  it('waits for its turn when its tenant reads another one', async () => {
    const [first, second] = [await longAnswer(), await longAnswer()];
    const open = await api.store.openEnd(first, {
      bytes: (await api.store.read(first))?.longEndBytes ?? 0,
      hold: async (bytes) => {
        const reservation = api.bodyBudget.open('first');
        await reservation.growInTurn(bytes, new AbortController().signal);
        return () => reservation.release();
      },
    });
    const waiting = [get(second), get(`${second}?stream=true`)];
    await expect.poll(() => api.open.size).toBe(2);
    expect(api.store.openEnds).toBe(1);
    open?.close();
    const [whole, stream] = await within(Promise.all(waiting));
    expect(await whole?.json()).toMatchObject({ output });
    expect(await stream?.text()).toContain('data: [DONE]');
  });

  it('waits no longer for a reader that has left', async () => {
    const [first, second] = [await longAnswer(), await longAnswer()];
    const reservation = api.bodyBudget.open('first');
    reservation.grow(600_000);
    const leaving = new AbortController();
    const left = get(second, leaving.signal).catch(() => 'left');
    await expect.poll(() => api.open.size).toBe(1);
    leaving.abort();
    expect(await left).toBe('left');
    await expect.poll(() => api.open.size).toBe(0);
    reservation.release();
    expect((await get(first)).status).toBe(200);
  });
});
