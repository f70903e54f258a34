import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { checkEventGrammar, eventually, within, randomFrom } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DeliverySite, responseIn, siteKeys, startDeliverySite } from './delivery-site.ts';
import {
  responseJsonIn,
  type RunningResponse,
  startRunning,
  type Window,
  windows,
} from './running-response.ts';
import { storeContents } from './store-contents.ts';
import { idIn, readFrames, send, wholeReplay } from './wire.ts';

let site: DeliverySite;

beforeAll(async () => {
  site = await startDeliverySite();
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
});

/** Each api is asked twice. */
const tries = 4;

/** Lets responses be ended in a window, each of which closes its connection of the upstream. */
async function expectAborted(
  window: Window,
  endIt: (running: RunningResponse, at: number) => void | Promise<void>,
): Promise<void> {
  for (let at = 0; at < tries; at += 1) {
    const running = await startRunning(site, window, at);
    const ending = endIt(running, at);
    expect(await within(running.upstreamCall.ended)).toBe('aborted');
    await ending;
  }
}

describe.each(windows)('%s', (window) => {
  it('a cancel by the other api closes the upstream connection', async () => {
    await expectAborted(window, async ({ id, answered }, at) => {
      const cancelled = await site.cancel(at + 1, id);
      expect(responseIn(cancelled)).toMatchObject({
        status: 'cancelled',
        incomplete_details: { reason: 'cancelled' },
        ...(window === 'in mid-stream' && {
          output: [{ type: 'message', status: 'incomplete' }],
          output_text: 'Well',
        }),
      });
      expect(await answered).toBe(cancelled.text);
      // A second cancellation changes nothing.
      expect((await site.cancel(at, id)).text).toBe(cancelled.text);
    });
  });

  it('a caller who leaves closes the upstream connection', async () => {
    await expectAborted(window, ({ leave }) => leave());
  });
});

/** Takes the only place of the narrow model. `release` counts the calls of what waited behind it. */
async function holdPlace(): Promise<{ release: () => Promise<number> }> {
  const holder = site.upstream.expect('nothing');
  const held = site.create(0, { model: 'narrow', input: holder.input });
  await holder.arrived.wait();
  const before = site.upstream.fake.requests.length;
  return {
    async release() {
      holder.finish();
      responseIn(await held);
      // This response gets the place after all others, so a call of another would have come first.
      responseIn(await site.create(1, { model: 'narrow', input: 'The last one.' }));
      return site.upstream.fake.requests.length - before - 1;
    },
  };
}

/** Lets a caller wait in the queue of the narrow model. */
async function startWaiting(at: number): Promise<{ id: string; leave: () => void }> {
  const answer = await site.stream(at, { model: 'narrow', input: `Queued ${at}.` });
  const queued = Promise.withResolvers<string>();
  const read = readFrames(answer, {
    onFrame: (frame) => {
      if (frame.event === 'response.queued') queued.resolve(idIn(frame));
    },
  });
  read.catch(() => undefined);
  return { id: await within(queued.promise), leave: answer.cut };
}

const untilCancelled = (at: number, id: string, timeoutMs?: number) =>
  eventually(
    async () => responseIn(await site.get(at, id)).status === 'cancelled',
    timeoutMs === undefined ? {} : { timeoutMs },
  );

it.each([
  { what: 'a caller who leaves', how: 'leave' },
  { what: 'a cancel', how: 'cancel' },
] as const)('$what ends a queued response, and the upstream is never called', async ({ how }) => {
  const place = await holdPlace();
  for (let at = 0; at < tries; at += 1) {
    const { id, leave } = await startWaiting(at);
    if (how === 'leave') leave();
    else await site.cancel(at + 1, id);
    await untilCancelled(at + 1, id);
    const events = (await wholeReplay(site.replay(at, id))).map(({ event }) => event);
    expect(events).toEqual(['response.created', 'response.queued', 'response.incomplete']);
  }
  expect(await place.release()).toBe(0);
});

it('a cancel leaves a response that has ended as it is', async () => {
  const created = await site.create(0, { model: 'simulator', input: 'Done.' });
  expect((await site.cancel(1, responseIn(created).id)).text).toBe(created.text);
});

const remove = (at: number, id: string) =>
  send(site.api(at), { method: 'DELETE', path: `/v1/responses/${id}`, key: siteKeys.tester });

it('a response that is deleted is gone on every api and from the store', async () => {
  const canary = `canary ${randomUUID()}`;
  const created = await site.create(0, { model: 'simulator', input: `Say ${canary}.` });
  expect(created.text).toContain(canary);
  const { id } = responseIn(created);
  expect((await remove(1, id)).status).toBe(200);
  for (const at of [0, 1]) {
    const inputs = send(site.api(at), { path: `/v1/responses/${id}/input_items`, key: siteKeys.tester });
    for (const { status, text } of [
      await site.get(at, id),
      await site.cancel(at, id),
      await remove(at, id),
      await inputs,
    ]) {
      expect({ status, text }).toMatchObject({ status: 404, text: expect.stringContaining('"not_found"') });
    }
    const replay = await site.replay(at, id);
    replay.cut();
    expect(replay.status).toBe(404);
  }
  const left = await storeContents(site.service.redis);
  expect([...left].filter(([, content]) => content.includes(canary))).toEqual([]);
});

it('a running response that is deleted is stopped', async () => {
  const { id, upstreamCall } = await startRunning(site, 'in mid-stream', 0);
  await remove(1, id);
  expect(await within(upstreamCall.ended)).toBe('aborted');
  expect((await site.get(0, id)).status).toBe(404);
});

/** The lead of one racer over the other, in milliseconds: from a clear lead of one to a clear lead of the other. */
const spreadMs = 12;

it('a cancel that races a completion has one winner, and every door tells the same', async () => {
  const random = randomFrom(Date.now());
  const winners = new Set<string>();
  for (let at = 0; at < 120; at += 1) {
    const window = windows[at % windows.length] ?? 'in mid-stream';
    const { id, finish, answered } = await startRunning(site, window, at);
    const leadMs = (random() * 2 - 1) * spreadMs;
    const finishing = pause(Math.max(0, leadMs)).then(finish); // this is the race itself, not a wait for something
    const cancelling = pause(Math.max(0, -leadMs)).then(() => site.cancel(at + 1, id)); // the same
    const [cancel, told] = await Promise.all([cancelling, answered, finishing]);
    const [here, there, replayHere, replayThere] = await Promise.all([
      site.get(0, id),
      site.get(1, id),
      wholeReplay(site.replay(0, id)),
      wholeReplay(site.replay(1, id)),
    ]);
    winners.add(responseIn(here).status);
    const streamed = responseJsonIn(replayHere.at(-1)?.data ?? '');
    for (const text of [there.text, cancel.text, told, streamed]) expect(text).toBe(here.text);
    expect(replayThere).toEqual(replayHere);
    expect(checkEventGrammar(replayHere.map(({ data }): unknown => JSON.parse(data)))).toEqual([]);
  }
  // Each of the two must win sometimes. Otherwise there was no race.
  expect([...winners].toSorted()).toEqual(['cancelled', 'completed']);
});

/** Two rounds of the rescue, and more. `npm run test:faults` holds them to their time. */
const patienceMs = 60_000;

it('the death of an api closes the upstream connections of its callers, and calls none for those that wait', async () => {
  const api = await site.service.addApi();
  const at = site.service.apis.indexOf(api);
  const place = await holdPlace();
  const waiting: string[] = [];
  const running: RunningResponse[] = [];
  for (let caller = 0; caller < 3; caller += 1) {
    waiting.push((await startWaiting(at)).id);
    for (const window of windows) running.push(await startRunning(site, window, at));
  }
  const callsBefore = site.upstream.fake.requests.length;
  await api.kill();
  site.service.apis.splice(at, 1);
  const ends = running.map(({ upstreamCall }) => within(upstreamCall.ended, { timeoutMs: patienceMs }));
  expect(await Promise.all(ends)).toEqual(running.map(() => 'aborted'));
  await Promise.all(waiting.map((id) => untilCancelled(0, id, patienceMs)));
  await place.release();
  // The last call belongs to the response that got the place after them.
  expect(site.upstream.fake.requests.length - callsBefore).toBe(1);
});
