import { eventually, within } from '@sluice/testing';
import { type DeliverySite, responseIn } from './delivery-site.ts';
import { idIn } from './measure-cuts.ts';
import { type RunningResponse, startRunning, untilStatus, type Window, windows } from './running-response.ts';
import { endOf } from './scripted-upstream.ts';
import { readFrames } from './wire.ts';

/**
 * Measures the times from a `POST …/cancel` to the closed connection of the upstream, in milliseconds. The cancellation
 * goes to the api that does not serve the caller.
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

/** Measures the times from a caller's departure to the closed connection of the upstream, in milliseconds. */
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

/** What became of the responses of an api that was killed. */
export interface KilledApi {
  /** Time from the kill to the closed connection of the upstream, in milliseconds. */
  times: number[];
  /** For queued responses, the time to the status `cancelled`, and the upstream calls that they led to. */
  queued: QueuedDepartures;
}

/** Puts callers into every window and into the queue, on an api of their own, and kills that api. */
export async function measureKilledApi(site: DeliverySite, callersEach: number): Promise<KilledApi> {
  const api = await site.service.addApi();
  const at = site.service.apis.indexOf(api);
  const place = await holdPlace(site);
  const waiting: Waiting[] = [];
  const running: RunningResponse[] = [];
  for (let caller = 0; caller < callersEach; caller += 1) {
    waiting.push(await startWaiting(site, at));
    for (const window of windows) running.push(await startRunning(site, window, at));
  }
  const callsBefore = site.upstream.fake.requests.length;
  const ends = running.map(({ upstreamCall }) => endOf(upstreamCall));
  const killedAt = performance.now();
  await api.kill();
  site.service.apis.splice(at, 1);
  // Far longer than the promise, so that a slow end shows in the result and does not stop the measurement.
  const ended = await Promise.all(ends.map((end) => abortedAt(end, patienceMs)));
  const queuedTimes: number[] = [];
  for (const { id } of waiting) {
    await eventually(async () => responseIn(await site.get(0, id)).status === 'cancelled', {
      timeoutMs: patienceMs,
    });
    queuedTimes.push(performance.now() - killedAt);
  }
  await place.release();
  // The last call belongs to the response that got the place after them.
  const upstreamCalls = site.upstream.fake.requests.length - callsBefore - 1;
  return { times: ended.map((endedAt) => endedAt - killedAt), queued: { times: queuedTimes, upstreamCalls } };
}

const patienceMs = 60_000;

/** What became of queued responses whose callers left. */
export interface QueuedDepartures {
  /** Time from the departure to the status `cancelled`, in milliseconds. */
  times: number[];
  /** Upstream calls that any of them led to. */
  upstreamCalls: number;
}

/** Holds the only place of a model, lets callers queue for it and leave, and then releases the place. */
export async function measureQueuedDepartures(
  site: DeliverySite,
  tries: number,
  how: 'leave' | 'cancel' = 'leave',
): Promise<QueuedDepartures> {
  const place = await holdPlace(site);
  const before = site.upstream.fake.requests.length;
  const times: number[] = [];
  for (let at = 0; at < tries; at += 1) {
    const { id, leave } = await startWaiting(site, at);
    const leftAt = performance.now();
    if (how === 'leave') leave();
    else await site.cancel(at + 1, id);
    await untilStatus(site, at + 1, id, 'cancelled');
    times.push(performance.now() - leftAt);
  }
  await place.release();
  // The last call belongs to the response that got the place after them.
  return { times, upstreamCalls: site.upstream.fake.requests.length - before - 1 };
}

/** Holds the only place of the narrow model. `release` resolves once the queue behind it is empty. */
async function holdPlace(site: DeliverySite): Promise<{ release: () => Promise<void> }> {
  const holder = site.upstream.expect('nothing');
  const held = site.create(0, { model: 'narrow', input: holder.input });
  await holder.arrived.wait();
  return {
    async release() {
      holder.finish();
      responseIn(await held);
      // This response gets the place after all others, so a call of another would have come first.
      responseIn(await site.create(1, { model: 'narrow', input: 'The last one.' }));
    },
  };
}

interface Waiting {
  id: string;
  leave: () => void;
}

/** Lets a caller wait in the queue of the narrow model. */
async function startWaiting(site: DeliverySite, at: number): Promise<Waiting> {
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

async function abortedAt(end: ReturnType<typeof endOf>, timeoutMs?: number): Promise<number> {
  const { ending, at } = await within(end, timeoutMs === undefined ? {} : { timeoutMs });
  if (ending !== 'aborted') throw new Error(`the upstream call was ${ending}`);
  return at;
}
