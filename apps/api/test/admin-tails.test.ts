import type { TailEvent } from '@sluice/contract/admin';
import { tailEndSchema, tailEventSchema } from '@sluice/contract/admin';
import { eventually, sseFrames, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';
import { operatorOf, actionToken, eachTestAdmin } from './test-admin.ts';

const api = eachTestApi();
const admin = eachTestAdmin(api);

interface Tail {
  events: TailEvent[];
  reason: string | undefined;
  /** Resolves when the stream is over. */
  over: Promise<void>;
  leave: () => void;
}

/** Follows a response, as a console does. */
async function follow(path: string, headers: Record<string, string> = {}): Promise<Tail> {
  const leaving = new AbortController();
  const answer = await admin.fetch(path, { headers, signal: leaving.signal });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  const tail: Tail = { events: [], reason: undefined, over: Promise.resolve(), leave: () => leaving.abort() };
  tail.over = (async () => {
    for await (const { event, data } of sseFrames(answer.body as AsyncIterable<Uint8Array>)) {
      if (event === 'event') tail.events.push(tailEventSchema.parse(JSON.parse(data)));
      if (event === 'end') tail.reason = tailEndSchema.parse(JSON.parse(data)).reason;
    }
  })().catch(() => undefined);
  return tail;
}

const numbers = ({ events }: Tail) => events.map((event) => event.sequence_number);
const withToken = { 'sluice-action-token': actionToken };

/** The next run, which says what the test says. */
const hold = () => api.worker.hold().begun.wait();

async function streamed(): Promise<string> {
  const answer = await api.stream({ model, input: 'Hi' }, { key: apiKeys.second });
  await answer.text();
  return String(api.worker.runs.at(-1)?.record.id);
}

describe('a tail', () => {
  it('has every event of a response of any tenant, without its content', async () => {
    const id = await streamed();
    const tail = await follow(`/responses/${id}/events`);
    await within(tail.over);
    expect(tail.reason).toBe('ended');
    expect(numbers(tail)).toEqual(tail.events.map((_, at) => at));
    expect(tail.events.map(({ type }) => type)).toContain('response.output_text.delta');
    expect(tail.events.at(-1)?.type).toBe('response.completed');
    expect(JSON.stringify(tail.events)).not.toContain('Hello');
    for (const event of tail.events) expect(Object.keys(event)).toEqual(['sequence_number', 'type', 'bytes']);
    expect(await admin.audit()).toEqual([]);
  });

  it('begins behind any number, of a query or of a browser that comes back', async () => {
    const id = await streamed();
    const all = await follow(`/responses/${id}/events`);
    await all.over;
    const last = all.events.length - 1;
    for (let cursor = 0; cursor <= last + 1; cursor += 1) {
      const asked = await follow(`/responses/${id}/events?starting_after=${cursor}`);
      await asked.over;
      // Who has more than there is has events that the store has lost, and is told the end under the next number.
      expect(numbers(asked)).toEqual(cursor > last ? [cursor + 1] : numbers(all).slice(cursor + 1));
      expect(asked.reason).toBe('ended');
    }
    const back = await follow(`/responses/${id}/events?starting_after=0`, { 'last-event-id': '3' });
    await back.over;
    expect(numbers(back)).toEqual(numbers(all).slice(4));
  });

  it('has the events themselves for who may act, which is logged', async () => {
    const id = await streamed();
    const tail = await follow(`/responses/${id}/events?content=true`, withToken);
    await tail.over;
    const events = tail.events.map(({ event }) => event as Record<string, unknown>);
    expect(events.map((event) => event['sequence_number'])).toEqual(numbers(tail));
    expect(events.map((event) => event['type'])).toEqual(tail.events.map(({ type }) => type));
    expect(events.at(-1)).toMatchObject({
      response: { id, status: 'completed', output: [{ content: [{ text: 'Hello' }] }] },
    });
    expect(await admin.audit()).toMatchObject([
      { action: 'response.reveal', target: id, outcome: 'done', detail: 'events' },
      { action: 'response.reveal', target: id, outcome: 'asked' },
    ]);
  });

  it('follows live what is still to come', async () => {
    const running = hold();
    const asked = api.stream({ model, input: 'Hi' });
    const run = await running;
    const tail = await follow(`/responses/${run.record.id}/events`);
    for (let at = 0; at < 5; at += 1) {
      const before = tail.events.length;
      run.say(`piece ${at}`);
      await eventually(() => tail.events.length > before);
    }
    await run.complete();
    await within(tail.over);
    expect(tail.reason).toBe('ended');
    expect(numbers(tail)).toEqual(tail.events.map((_, at) => at));
    await (await asked).text();
  });

  it('follows a response without a stream from its life cycle to its end', async () => {
    const running = hold();
    const asked = api.create({ model, input: 'Hi' });
    const run = await running;
    const tail = await follow(`/responses/${run.record.id}/events`);
    await eventually(() => tail.events.some(({ type }) => type === 'response.in_progress'));
    run.say('Hello');
    await run.complete();
    await within(tail.over);
    await asked;
    expect(tail.events.at(-1)?.type).toBe('response.completed');
    expect(numbers(tail)).toEqual(tail.events.map((_, at) => at));
  });

  it('ends cleanly when the response is deleted under it', async () => {
    const running = hold();
    const { json } = await api.create({ model, input: 'Hi', background: true });
    const id = String(json()['id']);
    await running;
    const tail = await follow(`/responses/${id}/events`);
    await eventually(() => tail.events.length > 0);
    await api.store.erase(id, 'first');
    await within(tail.over);
    expect(tail.reason).toBe('gone');
  });

  it('says so when the events have expired and the response has not', async () => {
    const id = await streamed();
    await api.redis.client.del(api.keys.log(id));
    expect(await admin.ask(`/responses/${id}/events`)).toMatchObject({
      status: 410,
      body: { error: { code: 'events_gone' } },
    });
  });

  it.each(['-1', '1.5', 'x', '', '99999999999999999999', '1&starting_after=2'])(
    'refuses to begin after "%s"',
    async (cursor) => {
      const id = await streamed();
      expect(await admin.ask(`/responses/${id}/events?starting_after=${cursor}`)).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_value', param: 'starting_after' } },
      });
    },
  );

  it('refuses a word for content that is none', async () => {
    expect(await admin.ask('/responses/x/events?content=yes')).toMatchObject({
      status: 400,
      body: { error: { param: 'content' } },
    });
  });
});

describe('whoever watches', () => {
  it('keeps no response alive whose caller has left', async () => {
    const running = hold();
    const caller = new AbortController();
    await api.stream({ model, input: 'Hi' }, { signal: caller.signal });
    const run = await running;
    const tail = await follow(`/responses/${run.record.id}/events?content=true`, withToken);
    await eventually(() => tail.events.length > 0);
    caller.abort();
    await eventually(() => run.cancelled.aborted);
    await within(tail.over);
    expect(tail.reason).toBe('ended');
    expect((await api.store.read(run.record.id))?.status).toBe('cancelled');
  });

  it('ends no response by leaving, and is no watcher of it', async () => {
    const running = hold();
    const asked = api.create({ model, input: 'Hi' });
    const run = await running;
    const { id } = run.record;
    const before = await api.redis.client.hgetall(api.keys.record(id));
    const tail = await follow(`/responses/${id}/events`);
    await eventually(() => tail.events.length > 0);
    expect(await api.redis.client.hgetall(api.keys.record(id))).toEqual(before);
    tail.leave();
    await tail.over;
    run.say('Hello');
    await run.complete();
    expect((await asked).json()['status']).toBe('completed');
  });
});

describe('tails', () => {
  it('are bounded, and make room when their readers leave', async () => {
    const tails = { most: 2, pollMs: { first: 20, longest: 50 } };
    await admin.start({ operator: operatorOf(api, { tails }) });
    const running = hold();
    const { json } = await api.create({ model, input: 'Hi', background: true });
    await running;
    const path = `/responses/${String(json()['id'])}/events`;
    const open = [await follow(path), await follow(path)];
    await eventually(() => open.every(({ events }) => events.length > 0));
    expect(await admin.ask(path)).toMatchObject({
      status: 503,
      body: { error: { code: 'server_is_overloaded' } },
    });
    open[0]?.leave();
    await eventually(async () => {
      const again = await admin.fetch(path);
      await again.body?.cancel();
      return again.status === 200;
    });
  });
});
