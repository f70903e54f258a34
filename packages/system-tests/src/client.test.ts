import { createClient, type ResponseEvent } from '@sluice/client';
import { checkEventGrammar, eventually } from '@sluice/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { deliverySite, siteKeys } from './delivery-site.ts';

const site = deliverySite({ apis: 0, workers: 1 });

// A test may have killed the first one.
beforeEach(async () => {
  const { apis, addApi } = site.service;
  apis.splice(0, apis.length, ...apis.filter((api) => api.isRunning()));
  await Promise.all(Array.from({ length: 2 - apis.length }, () => addApi()));
});

const clientOf = (urls: readonly string[]) =>
  createClient({ baseUrls: urls.map((url) => `${url}/v1`), apiKey: siteKeys.tester });

/** Reads to the end, and calls `onDelta` with the number of each piece of text as it comes. */
async function readAll(
  events: AsyncIterable<ResponseEvent>,
  onDelta: (at: number) => void = () => undefined,
) {
  const read: ResponseEvent[] = [];
  let deltas = 0;
  for await (const event of events) {
    read.push(event);
    if (event.type === 'response.output_text.delta') onDelta((deltas += 1));
  }
  return read;
}

/** How many responses the other api lists. */
async function listed(): Promise<number> {
  const headers = { authorization: `Bearer ${siteKeys.tester}` };
  const answer = await fetch(`${site.api(1)}/v1/responses?limit=100`, { headers });
  return ((await answer.json()) as { data: unknown[] }).data.length;
}

/** Kills the api that serves a caller, which is the first one until it does not answer. */
const killFirst = () => site.service.apis[0]?.kill();

describe('a client of two apis of which one is killed', () => {
  it.each([true, false])('reads a stream on, without gap or repeat (background: %s)', async (background) => {
    const client = clientOf(site.service.apiUrls);
    const words = ['one ', 'two ', 'three ', 'four '];
    const call = site.upstream.expect('one word', words);
    let killing: Promise<void> | undefined;
    const events = await readAll(
      client.stream({ model: 'scripted', input: call.input, background }),
      (at) => {
        if (at > 1) return;
        killing = killFirst();
        void killing?.then(call.finish);
      },
    );
    await killing;
    expect(site.service.apis[0]?.isRunning()).toBe(false);
    expect(checkEventGrammar(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output_text: `Well${words.join('')}.` },
    });
    const [first] = events;
    const id = first && 'response' in first ? first.response.id : '';
    expect(await readAll(client.follow(id))).toEqual(events);
    expect(await readAll(client.follow(id, { startingAfter: 4 }))).toEqual(events.slice(5));
  });

  it('gets the response that it has asked for, which runs once', async () => {
    const client = clientOf(site.service.apiUrls);
    const before = await listed();
    const call = site.upstream.expect('nothing');
    const created = client.create({ model: 'scripted', input: call.input });
    await call.arrived.wait();
    await killFirst();
    call.finish();
    expect(await created).toMatchObject({ status: 'completed', output_text: '.' });
    expect((await listed()) - before).toBe(1);
  });

  it('waits for the end', async () => {
    const client = clientOf(site.service.apiUrls);
    const call = site.upstream.expect('nothing');
    const { id } = await client.create({ model: 'scripted', input: call.input, background: true });
    const ended = client.wait(id);
    await call.arrived.wait();
    await killFirst();
    call.finish();
    expect(await ended).toMatchObject({ id, status: 'completed' });
  });
});

describe('a client', () => {
  it('cancels and deletes, and is told what is wrong', async () => {
    const client = clientOf(site.service.apiUrls);
    const call = site.upstream.expect('nothing');
    const { id } = await client.create({ model: 'scripted', input: call.input, background: true });
    expect(await client.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    expect(await client.delete(id)).toEqual({ id, object: 'response.deleted', deleted: true });
    await expect(client.retrieve(id)).rejects.toMatchObject({ status: 404, code: 'not_found' });
    await expect(client.create({ model: 'none', input: 'Hi' })).rejects.toMatchObject({
      status: 400,
      code: 'model_not_found',
    });
  });

  it('goes on with a response in the foreground whose loop was left, and ends it at once', async () => {
    const client = clientOf(site.service.apiUrls);
    const call = site.upstream.expect('one word');
    const ids: string[] = [];
    for await (const event of client.stream({ model: 'scripted', input: call.input })) {
      if ('response' in event) ids.push(event.response.id);
      if (event.type === 'response.output_text.delta') break;
    }
    const [id = ''] = ids;
    for await (const { type } of client.follow(id)) if (type === 'response.output_text.delta') break;
    expect(await client.cancel(id)).toMatchObject({ id, status: 'cancelled' });
  });

  it('comes back to an api that is started again', async () => {
    const [api] = site.service.apis;
    const url = api?.url ?? '';
    const client = clientOf([url]);
    const call = site.upstream.expect('one word', ['more']);
    let restarting: Promise<unknown> | undefined;
    const events = await readAll(
      client.stream({ model: 'scripted', input: call.input, background: true }),
      (at) => {
        if (at > 1) return;
        restarting = (async () => {
          await api?.kill();
          await site.service.addApi(Number(new URL(url).port));
          call.finish();
        })();
      },
    );
    await restarting;
    expect(checkEventGrammar(events)).toEqual([]);
    await eventually(() => events.at(-1)?.type === 'response.completed');
  });
});
