import { checkEventGrammar, eventually, type SseFrame, randomFrom } from '@sluice/testing';
import { expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { deliverySite, loggedEvents, siteKeys } from './delivery-site.ts';
import { inspectable, liveHeapMiB } from './faults/live-heap.ts';
import type { RunningApi } from './service.ts';
import { concurrently } from './statistics.ts';
import { idIn, numberOf, readFrames, wholeReplay } from './wire.ts';

const site = deliverySite({ env: inspectable });

const streams = 150;
const cutsEach = 4;

/** About as many bytes as these streams have. A cut may be after the end of a stream. */
const usualBytes = 16_000;

/** Follows a stream in the background that is cut at random bytes and resumed on the other api each time. */
async function followWithCuts(index: number, random: () => number) {
  const tokens = 20 + Math.floor(random() * 60);
  const answer = await site.stream(index, {
    // Some streams have reasoning, so that there are items of more than one kind.
    model: index % 3 === 0 ? 'simulator-reasoning' : 'simulator',
    input: `Stream ${index}. [[sluice: tokens=${tokens} tokens_per_second=60]]`,
    background: true,
  });
  // The first cut comes after the first event, because a client needs the id to come back.
  const begun = await readFrames(answer, { events: 1 + Math.floor(random() * 30) });
  const frames = begun.frames;
  const id = idIn(frames[0]);
  let { isWhole } = begun;
  let cuts = 1;
  while (!isWhole) {
    const last = frames.at(-1);
    const resumed = await site.replay(index + cuts, id, last === undefined ? -1 : numberOf(last));
    const bytes = cuts < cutsEach ? Math.ceil((random() * usualBytes) / cutsEach) : undefined;
    const part = await readFrames(resumed, bytes === undefined ? {} : { bytes });
    frames.push(...part.frames);
    isWhole = part.isWhole;
    if (!isWhole) cuts += 1;
    if (cuts > cutsEach) throw new Error(`${id}: a stream that nobody cut broke off`);
  }
  return { id, frames, cuts };
}

it('streams that are cut at any byte and resumed on the other api show the log, without gap or repeat', async () => {
  const random = randomFrom(Date.now());
  let allCuts = 0;
  await concurrently(streams, 50, async (index) => {
    const { id, frames, cuts } = await followWithCuts(index, random);
    allCuts += cuts;
    const logged = await loggedEvents(site.service.redis, id);
    expect(frames.map(numberOf), id).toEqual([...logged.keys()]);
    for (const [number, { event, data }] of frames.entries()) {
      // A life-cycle event carries the response, which the log does not contain.
      if (data.startsWith(`{"type":"${event}","sequence_number":${number},"response":`)) {
        expect(logged[number], id).toMatch(`{"type":"${event}"`);
      } else expect(data, id).toBe(logged[number]);
    }
    for (const at of [0, 1]) expect(await wholeReplay(site.replay(at, id))).toEqual(frames);
    expect(checkEventGrammar(frames.map(({ data }): unknown => JSON.parse(data))), id).toEqual([]);
  });
  expect(allCuts).toBeGreaterThan(2 * streams);
});

it('200 streams at once are complete, in order, and read whole on the other api', async () => {
  const callerAt = (at: number) => callerOf(site.api(at), siteKeys.tester);
  const follow = async (at: number) => {
    const input = `Talk about topic-${at}. [[sluice: tokens=40 tokens_per_second=40]]`;
    const { final, text, events } = await callerAt(at).stream({ input });
    expect(final.status).toBe('completed');
    expect(text).toBe(final.output_text);
    expect(text).toContain(`topic-${at}`);
    expect(events.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(40);
    expect((await callerAt(at + 1).get(final.id)).body).toEqual(final);
    return final.id;
  };
  const ids = await Promise.all(Array.from({ length: 200 }, (_, at) => follow(at)));
  expect(new Set(ids).size).toBe(200);
});

/** Starts a response whose model sends `pieces` once it is told to, and readers of it at each of the offsets. */
async function startReaders(pieces: number, readers: number) {
  const call = site.upstream.expect(
    'one word',
    Array.from({ length: pieces }, (_, at) => ` ${at}`),
  );
  const body = { model: 'scripted', input: call.input, background: true };
  const { frames } = await readFrames(await site.stream(1, body), { events: 1 });
  const id = idIn(frames[0]);
  await call.arrived.wait();
  const offsets = Array.from({ length: readers }, (_, at) => Math.floor((at * pieces) / readers) - 1);
  const opened = await Promise.all(offsets.map((offset, at) => site.replay(at, id, offset)));
  return {
    id,
    /** Lets the model go on, and holds what each reader gets against a later replay after the same offset. */
    async readAll() {
      call.finish();
      const read = await Promise.all(opened.map((answer) => readFrames(answer)));
      const whole = await wholeReplay(site.replay(1, id));
      for (const [at, { frames: seen, isWhole }] of read.entries()) {
        const offset = offsets[at] ?? -1;
        expect(isWhole).toBe(true);
        expect(joined(seen) === joined(whole.filter((frame) => numberOf(frame) > offset))).toBe(true);
      }
    },
  };
}

function joined(frames: readonly SseFrame[]): string {
  return frames.map(({ event, data }) => `${event} ${data}`).join('\n');
}

it('twenty readers of one stream, each from another offset, see the same bytes', async () => {
  const readers = await startReaders(2_000, 20);
  await readers.readAll();
});

it('a reader that stops costs at most 256 KiB, and the others get everything', async () => {
  const [api] = site.service.apis as [RunningApi];
  const readers = await startReaders(40_000, 2);
  const stalled = await Promise.all(Array.from({ length: 40 }, () => site.replay(0, readers.id)));
  await readers.readAll();
  const withThemMiB = await liveHeapMiB(api);
  for (const { cut } of stalled) cut();
  await eventually(async () => {
    const metrics = await fetch(`${api.adminUrl}/metrics`);
    return /^sluice_open_requests(?:\{[^}]*\})? 0$/m.test(await metrics.text());
  });
  expect((withThemMiB - (await liveHeapMiB(api))) / stalled.length).toBeLessThan(0.25);
});
