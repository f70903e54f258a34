import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@sluice/testing';
import { send } from '../wire.ts';
import { checkResponse, leftovers } from './checks.ts';
import { type FaultSite, neighbourKey } from './fault-site.ts';
import { follow, type FollowedResponse, isEnded, listed, read } from './followed-response.ts';
import { historyOf } from './history.ts';
import { injectionOf } from './inject.ts';
import {
  arrivals,
  cellAt,
  type Fault,
  isPromised,
  modes,
  type Moment,
  nameOf,
  type Place,
  type Promised,
} from './matrix.ts';
import { tokensOfAnswer } from './stamped-upstream.ts';

/** One response in one cell, or one look at what a round leaves. */
export interface Try {
  /** The name of the cell. */
  name: string;
  /** From the fault, or from the end of an outage, to the end of the response, in milliseconds. */
  tookMs: number | undefined;
  /** Each is one violation, with its history. */
  problems: string[];
}

export interface RoundOptions {
  fault: Fault;
  places: readonly Place[];
  /** How many responses are in each cell. */
  each: number;
  random: () => number;
  /** After this long a caller gives up, in milliseconds. */
  patienceMs: number;
}

/**
 * Puts responses into every cell of a fault, lets the fault happen once, and checks each of them. Rejects only when the
 * responses cannot be put into their places.
 */
export async function runRound(site: FaultSite, options: RoundOptions): Promise<Try[]> {
  const { fault, random } = options;
  const injection = injectionOf(site, fault, random);
  await site.refill();
  const holder = await holdNarrow(site);
  const staged = await stage(site, options);
  const begun = performance.now();

  const atTheEnd = staged.filter(({ place }) => place.moment === 'at the end');
  // The end and the fault race, except where the end would leave nothing for the fault.
  const race = fault === 'upstream cut' ? [] : atTheEnd.map((each) => releaseAfter(each, random() * raceMs));
  await pause(fault === 'upstream cut' ? 0 : random() * raceMs); // the race itself, not a wait for something
  const faultAt = performance.now();
  const { over, repaired } = await injection.begin();
  const arriving = arrive(site, options);
  const beside = askBeside(site, options, over);
  const releases = staged
    .filter(({ cell, place }) => cell.isHeldToItsEnd !== true && place.moment !== 'queued')
    .map((each) => releaseAfter(each, random() * injection.lastsMs * beyond));
  await over;
  const overAt = injection.lastsMs > 0 ? performance.now() : faultAt;
  await Promise.all([...race, ...releases]);

  const ends = staged.map((each) => endOf(site, each, options.patienceMs));
  await Promise.all(ends.filter((_, at) => staged[at]?.cell.isHeldToItsEnd));
  for (const { response } of staged) response.prompt.release();
  holder.prompt.release();
  const queueAt = performance.now();
  await repaired;
  await site.refill();

  const endedAts = await Promise.all(ends);
  const tries = await Promise.all(
    staged.map((each, at) => {
      const endedAt = endedAts[at] ?? Number.POSITIVE_INFINITY;
      const isAfterQueue = each.place.moment === 'queued' && each.cell.isHeldToItsEnd !== true;
      const clearAt = Math.max(overAt, each.releasedAt, isAfterQueue ? queueAt : 0);
      return judge(site, each, { begun, endedAt, clearAt });
    }),
  );
  tries.push(...(await judgeArrivals(site, options, await arriving)));
  tries.push(...(await beside));
  await holder.told;
  tries.push(await lookAfterwards(fault, overAt, () => leftovers(site)));
  return tries;
}

/** The look at what a round leaves, which waits until there is nothing. Its time is until then. */
export async function lookAfterwards(
  fault: Fault,
  overAt: number,
  look: () => Promise<string[]>,
): Promise<Try> {
  const problems = await look();
  return { name: `${fault} / afterwards`, tookMs: performance.now() - overAt, problems };
}

/** Some upstreams go on during an outage, others behind it: up to this share of its length. */
const beyond = 1.8;

/** The end and the fault fall within this of each other, in milliseconds. */
const raceMs = 30;

interface Staged {
  place: Place;
  cell: Promised;
  response: FollowedResponse;
  releasedAt: number;
  listedId: string | undefined;
}

async function releaseAfter(each: Staged, delayMs: number): Promise<void> {
  await pause(delayMs); // when the upstream goes on is part of the case
  each.response.prompt.release();
  each.releasedAt = performance.now();
}

/** Takes the only place of the narrow model, so that others wait. */
async function holdNarrow(site: FaultSite): Promise<FollowedResponse> {
  const prompt = site.upstream.expect(0);
  // At the last api, which no fault of an api ends.
  const url = site.service.apiUrls.at(-1) ?? '';
  const holder = follow(site, prompt, { mode: 'background', model: 'narrow', url });
  await prompt.holds.wait();
  return holder;
}

const holdsAfter: Record<Moment, number> = {
  // Nothing holds it but the queue.
  queued: tokensOfAnswer + 1,
  'running without output': 0,
  'in the middle': 3,
  'at the end': tokensOfAnswer,
};

/** Starts the responses of a round at the first api and waits until each is in its place. */
async function stage(site: FaultSite, { places, each, patienceMs }: RoundOptions): Promise<Staged[]> {
  const url = site.service.apiUrls[0] ?? '';
  const staged: Staged[] = places.flatMap((place) => {
    const cell = cellAt(place);
    if (!isPromised(cell)) return [];
    return Array.from({ length: each }, () => {
      const prompt = site.upstream.expect(holdsAfter[place.moment]);
      const model = place.moment === 'queued' ? 'narrow' : 'stamped';
      const response = follow(site, prompt, { mode: place.mode, model, url, patienceMs });
      return { place, cell, response, releasedAt: 0, listedId: undefined };
    });
  });
  const inPlace = await Promise.allSettled(staged.map(reachPlace));
  const missing = inPlace.flatMap((outcome, at) =>
    outcome.status === 'rejected' ? [`${nameOf(staged[at]?.place as Place)}: ${String(outcome.reason)}`] : [],
  );
  if (missing.length > 0) throw new Error(`responses did not reach their places:\n${missing.join('\n')}`);
  await eventually(async () => {
    const known = await listed(
      site,
      staged.map(({ response }) => response),
    );
    for (const one of staged) {
      const found = known.get(one.response.prompt.id);
      if (found?.status !== (one.place.moment === 'queued' ? 'queued' : 'in_progress')) return false;
      one.listedId = found.id;
    }
    return true;
  });
  return staged;
}

async function reachPlace({ place, response }: Staged): Promise<void> {
  if (place.moment === 'queued') return;
  await response.prompt.holds.wait();
  if (place.moment === 'running without output' || !place.mode.includes('stream')) return;
  await response.isVisible.wait();
}

/** When a response ended, by its caller or, if the caller was cut off, by its record. */
async function endOf(site: FaultSite, { response, listedId }: Staged, timeoutMs: number): Promise<number> {
  const { told, at } = await response.told;
  if (told.kind === 'end' || told.kind === 'error' || listedId === undefined) return at;
  return eventually(
    async () => {
      const answer = await read(site, 0, listedId);
      return answer.status === 200 && isEnded(answer.text) && performance.now();
    },
    { timeoutMs },
  ).catch(() => Number.POSITIVE_INFINITY);
}

interface Times {
  begun: number;
  endedAt: number;
  clearAt: number;
}

async function judge(site: FaultSite, each: Staged, { begun, endedAt, clearAt }: Times): Promise<Try> {
  const { place, cell, response, listedId } = each;
  const name = nameOf(place);
  const { final, problems } = await checkResponse(site, response, listedId);
  const tookMs = Math.max(0, endedAt - clearAt);
  const calls = response.prompt.calls.length;
  if (final && !cell.ends.some((end) => end === final.status)) {
    problems.push(
      `it is ${final.status} (${final.error?.code ?? 'no error'}), not ${cell.ends.join(' or ')}`,
    );
  }
  if (!final) problems.push('it is lost');
  if (calls < cell.calls[0] || calls > cell.calls[1]) {
    problems.push(`${calls} calls of the upstream, not ${cell.calls.join('..')}`);
  }
  const told = await response.told;
  if (told.told.kind === 'broken' && !cell.ends.includes('cancelled')) {
    problems.push(`the caller was left without an end: ${told.told.reason}`);
  }
  if (tookMs > cell.withinMs + site.machineMs) problems.push(`it took ${Math.round(tookMs)} ms`);
  return { name, tookMs, problems: await withHistory(site, response, problems, begun) };
}

interface Arrival {
  response: FollowedResponse;
  tookMs: number;
}

/** Sends a request of each mode while the fault lasts. */
async function arrive(site: FaultSite, { fault, each, patienceMs }: RoundOptions): Promise<Arrival[]> {
  if (!arrivals[fault]) return [];
  const all = modes.flatMap((mode) =>
    Array.from({ length: each }, (_, at) => {
      const prompt = site.upstream.expect(tokensOfAnswer + 1);
      const url = site.service.apiUrls[at % site.service.apiUrls.length] ?? '';
      return follow(site, prompt, { mode, url, patienceMs });
    }),
  );
  return Promise.all(
    all.map(async (response) => ({ response, tookMs: (await response.told).at - response.sentAt })),
  );
}

/** A tenant of another cell asks again and again, and notices nothing of the fault. */
async function askBeside(site: FaultSite, { fault }: RoundOptions, over: Promise<void>): Promise<Try[]> {
  if (!site.hasNeighbour || !arrivals[fault]) return [];
  const tries: Try[] = [];
  const lasting = { is: true };
  const end = () => (lasting.is = false);
  over.then(end, end);
  for (let at = 0; lasting.is; at += 1) {
    const prompt = site.upstream.expect(tokensOfAnswer + 1);
    const url = site.service.apiUrls[at % site.service.apiUrls.length] ?? '';
    const sentAt = performance.now();
    const body = { model: 'stamped', input: prompt.id };
    const request = { method: 'POST', path: '/v1/responses', key: neighbourKey, body } as const;
    const problems = await send(url, { ...request, withinMs: answeredWithinMs }).then(
      ({ status, text }) => (status === 200 ? [] : [`it was answered with ${status}: ${text}`]),
      (error: unknown) => [`it got no answer: ${String(error)}`],
    );
    const tookMs = performance.now() - sentAt;
    if (tookMs > servedWithinMs + site.machineMs) problems.push(`it took ${Math.round(tookMs)} ms`);
    tries.push({ name: `${fault} / beside`, tookMs, problems });
  }
  return tries;
}

/** How long a response of another cell takes at most, in milliseconds. */
const servedWithinMs = 1_500;
/** One that has no answer by then is given up, in milliseconds. */
const answeredWithinMs = 10_000;

async function judgeArrivals(
  site: FaultSite,
  { fault }: RoundOptions,
  arrived: readonly Arrival[],
): Promise<Try[]> {
  const promise = arrivals[fault];
  if (!promise) return [];
  const known = await listed(
    site,
    arrived.map(({ response }) => response),
  );
  return Promise.all(
    arrived.map(async ({ response, tookMs }) => {
      const { told } = await response.told;
      const { final, problems } = await checkResponse(site, response, known.get(response.prompt.id)?.id);
      const isRefused = told.kind === 'refused' || (told.kind === 'error' && final?.status !== 'failed');
      if (told.kind === 'broken') problems.push(`it got no answer: ${told.reason}`);
      if (isRefused && tookMs > promise.refusedWithinMs + site.machineMs) {
        problems.push(`it was refused after ${Math.round(tookMs)} ms`);
      }
      return {
        name: `${fault} / arriving`,
        tookMs: isRefused ? tookMs : undefined,
        problems: await withHistory(site, response, problems, response.sentAt),
      };
    }),
  );
}

async function withHistory(
  site: FaultSite,
  response: FollowedResponse,
  problems: readonly string[],
  begun: number,
): Promise<string[]> {
  if (problems.length === 0) return [];
  const history = await historyOf(site, response, begun);
  return problems.map((problem, at) => (at === 0 ? `${problem}\n${history}` : problem));
}
