import { randomFrom } from '@sluice/testing';
import { setTimeout as pause } from 'node:timers/promises';
import { concurrently } from '../statistics.ts';
import { checkResponse, leftovers } from './checks.ts';
import { type FaultSite, startFaultSite } from './fault-site.ts';
import { follow, type FollowedResponse, listed, type Told } from './followed-response.ts';
import { historyOf } from './history.ts';
import { injectionOf } from './inject.ts';
import { type End, type Fault, faults, modes } from './matrix.ts';
import { tokensOfAnswer } from './stamped-upstream.ts';

export interface MixOptions {
  minutes: number;
  seed: number;
  onProgress?: (said: string) => void;
}

export interface MixResult {
  responses: number;
  /** Responses by their end; `refused` for those that were not accepted. */
  ends: Map<string, number>;
  faults: Map<Fault, number>;
  /** Requests that were refused and ran all the same, because Redis went away after their job had been sent. */
  unpromised: number;
  violations: string[];
}

/** A fault of an epoch and when it was, by the clock of this process. */
interface Spell {
  fault: Fault;
  from: number;
  /** Infinite as long as it lasts. */
  to: number;
}

/** Callers at a time. */
const lanes = 8;
/** How long responses and faults go on before all is checked, in milliseconds. */
const epochMs = 45_000;
/** Longest rest between two faults, longest silence of an upstream, longest rest of a caller, in milliseconds. */
const longest = { restMs: 6_000, silenceMs: 1_500, idleMs: 500 };

/**
 * Lets faults of every kind happen to responses of every mode, at moments that follow from the seed. It works in epochs of
 * under a minute; after each everything is checked. The seed of an epoch alone replays it.
 */
export async function runMix({ minutes, seed, onProgress }: MixOptions): Promise<MixResult> {
  const result: MixResult = {
    responses: 0,
    ends: new Map(),
    faults: new Map(),
    unpromised: 0,
    violations: [],
  };
  const endsAt = performance.now() + minutes * 60_000;
  await using site = await startFaultSite();
  for (let epoch = 0; performance.now() < endsAt; epoch += 1) {
    onProgress?.(`mix: ${result.responses} responses, ${result.violations.length} violations`);
    await runEpoch(site, seed + epoch, Math.min(epochMs, endsAt - performance.now()), result);
  }
  return result;
}

async function runEpoch(site: FaultSite, seed: number, lastsMs: number, result: MixResult): Promise<void> {
  const begun = performance.now();
  const spells: Spell[] = [];
  const followed: FollowedResponse[] = [];
  const isOver = () => performance.now() - begun > lastsMs;
  const random = randomFrom(seed);
  const load = Array.from({ length: lanes }, (_, lane) =>
    callAgain(site, randomFrom(seed * 31 + lane), followed, isOver),
  );
  while (!isOver()) {
    await spell(site, random, spells);
    await pause(random() * longest.restMs); // faults come at any moment
  }
  await Promise.all(load);
  await site.refill();
  for (const { fault } of spells) result.faults.set(fault, (result.faults.get(fault) ?? 0) + 1);

  const report = (problem: string) => {
    const log = spells.map(
      ({ fault, from, to }) => `  ${since(from, begun)} to ${since(to, begun)}: ${fault}`,
    );
    result.violations.push(`epoch with seed ${seed}: ${problem}\n${log.join('\n')}`);
  };
  const known = await listed(site, followed);
  await concurrently(followed.length, lanes, async (at) => {
    const response = followed[at];
    if (!response) return;
    const { final, problems } = await checkResponse(site, response, known.get(response.prompt.id)?.id);
    problems.push(...(await unexpected(response, final?.status, spells)));
    const end = final?.status ?? 'refused';
    result.ends.set(end, (result.ends.get(end) ?? 0) + 1);
    result.responses += 1;
    if (await isBeyondPromises(response, final?.status, spells)) result.unpromised += 1;
    else if (problems.length > 0) report(`${problems.join('\n')}\n${await historyOf(site, response, begun)}`);
  });
  for (const left of await leftovers(site)) report(left);
}

function since(at: number, begun: number): string {
  return `${Math.round(at - begun)} ms`;
}

/** One fault, or two at once of which one is a death and the other an outage. Resolves when they are over and repaired. */
async function spell(site: FaultSite, random: () => number, spells: Spell[]): Promise<void> {
  const first = pick(faults, random);
  const second = pick(faults, random);
  const both = random() < 0.2 && isOutage(first) !== isOutage(second) ? [first, second] : [first];
  await Promise.all(
    both.map(async (fault) => {
      const { begin } = injectionOf(site, fault, random);
      const entry: Spell = { fault, from: performance.now(), to: Number.POSITIVE_INFINITY };
      spells.push(entry);
      const { begunAt = entry.from, over, repaired } = await begin();
      entry.from = begunAt;
      await over;
      entry.to = performance.now();
      await repaired;
    }),
  );
}

function isOutage(fault: Fault): boolean {
  return fault.includes('Redis');
}

function pick<T>(from: readonly T[], random: () => number): T {
  const picked = from[Math.floor(random() * from.length)];
  if (picked === undefined) throw new RangeError('nothing to pick from');
  return picked;
}

/** One caller: a request of a random mode, its end, a rest, and again. */
async function callAgain(
  site: FaultSite,
  random: () => number,
  followed: FollowedResponse[],
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const prompt = site.upstream.expect(Math.floor(random() * (tokensOfAnswer + 1)));
    const release = setTimeout(prompt.release, random() * longest.silenceMs);
    const url = pick(site.service.apiUrls, random);
    const response = follow(site, prompt, { mode: pick(modes, random), url });
    followed.push(response);
    await response.told;
    clearTimeout(release);
    prompt.release();
    await pause(random() * longest.idleMs); // the pace of a caller
  }
}

/** Until everything works again after an outage, in milliseconds: 3 s are promised, and a loaded machine adds some. */
const recoveryMs = 4_000;

/** What the faults of its time do not explain. */
async function unexpected(
  response: FollowedResponse,
  end: string | undefined,
  spells: readonly Spell[],
): Promise<string[]> {
  const { told, at } = await response.told;
  const met = spells
    .filter(({ from, to }) => from < at && to + recoveryMs > response.sentAt)
    .map(({ fault }) => fault);
  const problems: string[] = [];
  if (end === undefined && !isExcused(told, met))
    problems.push(`not accepted (${told.kind}), and nothing was wrong`);
  if (
    end !== undefined &&
    !isTakenBack(told, end, response) &&
    !allowedEnds(response, met).some((allowed) => allowed === end)
  ) {
    problems.push(`it is ${end}, having met: ${met.join(', ') || 'nothing'}`);
  }
  if (told.kind === 'broken' && end !== 'cancelled' && !met.includes('api killed')) {
    problems.push(`the caller was left without an end: ${told.reason}`);
  }
  return problems;
}

/**
 * Whether a request was refused during an outage of Redis and lives all the same, for a reason that nothing is promised
 * about: Redis went away while it was under way, after its job had been sent, or its api was killed before the store
 * answered, which was to take it back. See decision 0018.
 */
async function isBeyondPromises(
  { told, prompt, sentAt }: FollowedResponse,
  end: string | undefined,
  spells: readonly Spell[],
): Promise<boolean> {
  const { told: answer, at } = await told;
  if (!(answer.kind === 'refused' || answer.kind === 'error') || answer.status !== 503) return false;
  const outages = spells.filter(({ fault, from, to }) => isOutage(fault) && from < at && to > sentAt);
  const wentAway = outages.some(({ from }) => from > sentAt) && prompt.calls.length > 0;
  const isApiDead = outages.some(({ to }) =>
    spells.some(({ fault, from }) => fault === 'api killed' && from > at && from < to + takenBackMs),
  );
  return wentAway || (isApiDead && end !== undefined);
}

/** How long after the return of Redis an api has taken back what it refused, on a loaded machine, in milliseconds. */
const takenBackMs = 1_000;

function isExcused(told: Told, met: readonly Fault[]): boolean {
  return told.kind === 'broken' ? met.includes('api killed') : met.some(isOutage);
}

/** A request that nobody was promised leaves a response that never ran: cancelled by its api, or abandoned by the rescue. */
function isTakenBack(told: Told, end: string, { prompt, frames }: FollowedResponse): boolean {
  if (prompt.calls.length > 0 || frames.length > 0 || told.kind === 'end') return false;
  return end === 'cancelled' || (end === 'failed' && told.kind === 'broken');
}

function allowedEnds({ mode }: FollowedResponse, met: readonly Fault[]): End[] {
  const allowed: End[] = ['completed'];
  const cuts = met.filter((fault) => fault === 'worker killed' || fault === 'upstream cut').length;
  // Output that was seen ends with its run; of others the second run may be cut off, too.
  if (cuts > (mode.includes('stream') ? 0 : 1)) allowed.push('failed');
  const isWaitedFor = !mode.includes('background');
  const isApiGone =
    met.includes('api killed') || (met.includes('api stopped with SIGTERM') && met.some(isOutage));
  if (isWaitedFor && isApiGone) allowed.push('cancelled');
  return allowed;
}
