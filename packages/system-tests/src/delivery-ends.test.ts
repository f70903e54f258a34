import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { checkEventGrammar, within, randomFrom } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { deliverySite, responseIn, siteKeys } from './delivery-site.ts';
import {
  responseJsonIn,
  type RunningResponse,
  startRunning,
  type Window,
  windows,
} from './running-response.ts';
import { storeContents } from './store-contents.ts';
import { send, wholeReplay } from './wire.ts';

const site = deliverySite();

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
