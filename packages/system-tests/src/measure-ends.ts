import type { UpstreamRequest } from '@sluice/testing';
import { within } from '@sluice/testing';
import { type DeliverySite, responseIn } from './delivery-site.ts';
import { endOf, type FirstWords } from './scripted-upstream.ts';
import { idIn } from './measure-cuts.ts';
import { readFrames } from './wire.ts';

/** Where a response is when somebody ends it, apart from the queue. */
export type Window = 'before the first token' | 'in mid-stream' | 'of a synchronous call';

export const windows: readonly Window[] = ['before the first token', 'in mid-stream', 'of a synchronous call'];

/** A response whose upstream call is open, and its caller. */
interface Running {
  /** Known at once, but for a synchronous call, whose caller learns its id at the end. */
  id: string;
  upstreamCall: UpstreamRequest;
  /** The caller's answer; a stream's is its status alone. */
  answered: Promise<string | number>;
  leave: () => void;
}

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
    const cancelled = site.cancel(at + 1, id);
    const { ending, at: endedAt } = await within(end);
    if (ending !== 'aborted') throw new Error(`the upstream call was ${ending}`);
    times.push(endedAt - askedAt);
    const { status } = responseIn(await cancelled);
    if (status !== 'cancelled') throw new Error(`the cancelled response is ${status}`);
    await answered;
  }
  return times;
}

/** Times from the moment a caller leaves to the closed connection of the upstream, in milliseconds. */
export async function measureDepartures(site: DeliverySite, window: Window, tries: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < tries; at += 1) {
    const { upstreamCall, leave, answered } = await startRunning(site, window, at);
    const end = endOf(upstreamCall);
    const leftAt = performance.now();
    leave();
    const { ending, at: endedAt } = await within(end);
    if (ending !== 'aborted') throw new Error(`the upstream call was ${ending}`);
    times.push(endedAt - leftAt);
    await answered.catch(() => undefined);
  }
  return times;
}

/** Has callers in every window on one api, kills that api, and times the closed connections of the upstream. */
export async function measureKilledApi(site: DeliverySite, callersEach: number): Promise<number[]> {
  const api = await site.service.addApi();
  const at = site.service.apiUrls.indexOf(api.url);
  const running: Running[] = [];
  for (const window of windows) {
    for (let caller = 0; caller < callersEach; caller += 1) running.push(await startRunning(site, window, at));
  }
  const ends = running.map(({ upstreamCall }) => endOf(upstreamCall));
  const killedAt = performance.now();
  await api.kill();
  site.service.apis.splice(at, 1);
  // Far above the promise: what takes longer is to be seen, not to break off the measurement.
  const ended = await within(Promise.all(ends), { timeoutMs: 60_000 });
  await Promise.allSettled(running.map(({ answered }) => answered));
  return ended.map(({ ending, at: endedAt }) => {
    if (ending !== 'aborted') throw new Error(`the upstream call was ${ending}`);
    return endedAt - killedAt;
  });
}

/** What became of callers that left while their response was queued. */
export interface QueuedDepartures {
  /** From the departure to the status `cancelled`, in milliseconds. */
  times: number[];
  /** Calls of the upstream that any of them led to. */
  upstreamCalls: number;
}

/** Holds the only place of a model, has callers queue for it and leave, and lets the queue go on. */
export async function measureQueuedDepartures(site: DeliverySite, tries: number): Promise<QueuedDepartures> {
  const holder = site.upstream.expect('nothing');
  const held = site.create(0, { model: 'narrow', input: holder.input });
  await holder.arrived.wait();
  const before = site.upstream.fake.requests.length;
  const times: number[] = [];
  for (let at = 0; at < tries; at += 1) {
    const answer = await site.stream(at, { model: 'narrow', input: `Queued ${at}.` });
    const { frames } = await readFrames({ ...answer, cut: () => undefined }, untilQueued);
    const id = idIn(frames[0]);
    const leftAt = performance.now();
    answer.cut();
    await untilStatus(site, at + 1, id, 'cancelled');
    times.push(performance.now() - leftAt);
  }
  holder.finish();
  responseIn(await held);
  // Takes the place after all of them, had any been left in the queue.
  responseIn(await site.create(1, { model: 'narrow', input: 'The last one.' }));
  return { times, upstreamCalls: site.upstream.fake.requests.length - before - 1 };
}

/** Waits for a status by reading it again and again, without a pause: the time is what is measured. */
export async function untilStatus(site: DeliverySite, at: number, id: string, status: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (responseIn(await site.get(at, id)).status !== status) {
    if (performance.now() > deadline) throw new Error(`${id} is not ${status} in time`);
  }
}

const untilQueued = { isEnough: ({ event }: { event: string }) => event === 'response.queued' };

async function startRunning(site: DeliverySite, window: Window, at: number): Promise<Running> {
  const words: FirstWords = window === 'in mid-stream' ? 'one word' : 'nothing';
  const call = site.upstream.expect(words);
  const body = { model: 'scripted', input: call.input };
  if (window === 'of a synchronous call') {
    const leaving = new AbortController();
    const answered = fetch(`${site.api(at)}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${site.service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).then((answer) => answer.text());
    answered.catch(() => undefined);
    const upstreamCall = await call.arrived.wait();
    const id = await newestId(site, at);
    return { id, upstreamCall, answered, leave: () => leaving.abort() };
  }
  const answer = await site.stream(at, body);
  const isFirst = { isEnough: ({ event }: { event: string }) => event === words };
  void isFirst;
  throw new Error(`not yet: ${answer.status}`);
}

async function newestId(site: DeliverySite, at: number): Promise<string> {
  void site;
  void at;
  throw new Error('not yet');
}
