import { within } from '@sluice/testing';
import { type DeliverySite, responseIn } from './delivery-site.ts';
import { idIn } from './measure-cuts.ts';
import { type RunningResponse, startRunning, untilStatus, type Window, windows } from './running-response.ts';
import { endOf } from './scripted-upstream.ts';
import { readFrames } from './wire.ts';

/**
 * Times from a `POST …/cancel`, by the api that does not serve the caller, to the closed connection of the upstream,
 * in milliseconds.
 */
export async function measureCancels(site: DeliverySite, window: Window, tries: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < tries; at += 1) {
    const { id, upstreamCall, answered } = await startRunning(site, window, at);
    const end = endOf(upstreamCall);
    const askedAt = performance.now();
    const cancelling = site.cancel(at + 1, id);
    times.push((await abortedAt(end)) - askedAt);
    const cancelled = await cancelling;
    if (responseIn(cancelled).status !== 'cancelled') throw new Error(`not cancelled: ${cancelled.text}`);
    const told = await answered;
    if (told !== cancelled.text) throw new Error(`the caller was told ${told}\nand not ${cancelled.text}`);
  }
  return times;
}

/** Times from the moment a caller leaves to the closed connection of the upstream, in milliseconds. */
export async function measureDepartures(
  site: DeliverySite,
  window: Window,
  tries: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < tries; at += 1) {
    const { upstreamCall, leave } = await startRunning(site, window, at);
    const end = endOf(upstreamCall);
    const leftAt = performance.now();
    leave();
    times.push((await abortedAt(end)) - leftAt);
  }
  return times;
}

/** Has callers in every window on an api of their own, kills it, and times the closed connections of the upstream. */
export async function measureKilledApi(site: DeliverySite, callersEach: number): Promise<number[]> {
  const api = await site.service.addApi();
  const at = site.service.apis.indexOf(api);
  const running: RunningResponse[] = [];
  for (const window of windows) {
    for (let caller = 0; caller < callersEach; caller += 1)
      running.push(await startRunning(site, window, at));
  }
  const ends = running.map(({ upstreamCall }) => endOf(upstreamCall));
  const killedAt = performance.now();
  await api.kill();
  site.service.apis.splice(at, 1);
  // Far above the promise: what takes longer is to be seen, not to break off the measurement.
  const ended = await Promise.all(ends.map((end) => abortedAt(end, 60_000)));
  return ended.map((endedAt) => endedAt - killedAt);
}

/** What became of callers that left while their response was queued. */
export interface QueuedDepartures {
  /** From the departure to the status `cancelled`, in milliseconds. */
  times: number[];
  /** Calls of the upstream that any of them led to. */
  upstreamCalls: number;
}

/** Holds the only place of a model, has callers queue for it and leave, and lets the queue go on. */
export async function measureQueuedDepartures(
  site: DeliverySite,
  tries: number,
  how: 'leave' | 'cancel' = 'leave',
): Promise<QueuedDepartures> {
  const holder = site.upstream.expect('nothing');
  const held = site.create(0, { model: 'narrow', input: holder.input });
  await holder.arrived.wait();
  const before = site.upstream.fake.requests.length;
  const times: number[] = [];
  for (let at = 0; at < tries; at += 1) {
    const answer = await site.stream(at, { model: 'narrow', input: `Queued ${at}.` });
    const queued = Promise.withResolvers<string>();
    const read = readFrames(answer, {
      onFrame: (frame) => {
        if (frame.event === 'response.queued') queued.resolve(idIn(frame));
      },
    });
    read.catch(() => undefined);
    const id = await within(queued.promise);
    const leftAt = performance.now();
    if (how === 'leave') answer.cut();
    else await site.cancel(at + 1, id);
    await untilStatus(site, at + 1, id, 'cancelled');
    times.push(performance.now() - leftAt);
  }
  holder.finish();
  responseIn(await held);
  // Gets the place after all of them, had any stayed in the queue.
  responseIn(await site.create(1, { model: 'narrow', input: 'The last one.' }));
  return { times, upstreamCalls: site.upstream.fake.requests.length - before - 1 };
}

async function abortedAt(end: ReturnType<typeof endOf>, timeoutMs?: number): Promise<number> {
  const { ending, at } = await within(end, timeoutMs === undefined ? {} : { timeoutMs });
  if (ending !== 'aborted') throw new Error(`the upstream call was ${ending}`);
  return at;
}
