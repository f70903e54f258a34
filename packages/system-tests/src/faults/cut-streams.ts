import { randomFrom } from '@sluice/testing';
import { createHash, type Hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { SseFrame } from '@sluice/testing';
import { numberOf, open, type OpenAnswer, readFrames, type WireRequest } from '../wire.ts';
import { leftovers } from './checks.ts';
import { type FaultSite, startFaultSite, testerKey } from './fault-site.ts';
import { idInEvent, replay } from './followed-response.ts';
import { injectionOf } from './inject.ts';
import type { Fault } from './matrix.ts';

export interface EventsOptions {
  /** Goes on until readers have seen so many. */
  events: number;
  seed: number;
  onProgress?: (said: string) => void;
}

export interface EventsResult {
  streams: number;
  /** Seen by readers, over all their connections. */
  events: number;
  reconnects: number;
  faults: Map<Fault, number>;
  /** Streams by the type of their last event. */
  ends: Map<string, number>;
  violations: string[];
}

/** Readers at a time, tokens of a stream, most events of one connection. */
const load = { lanes: 12, tokens: 2_000, eventsOfConnection: 1_500 };

/** Longest rest between two faults, in milliseconds. */
const longestRestMs = 6_000;

/** Between two tries of a reader whose connection broke, and how long it tries, in milliseconds. */
const retry = { everyMs: 100, withinMs: 60_000 };

/** What can happen to a stream on its way, or to whoever writes or reads it. */
const kinds: readonly Fault[] = [
  'api killed',
  'worker killed',
  'Redis killed and restarted',
  'one in a hundred replies of Redis lost',
  'path to Redis cut',
  'subscriber connections cut',
];

/**
 * Reads long streams that are cut all the time, by their readers and by faults, and resumes each of them behind the last
 * event that was seen. No number may be missing or come twice, and what was seen must be what another api replays.
 */
export async function runEvents({ events, seed, onProgress }: EventsOptions): Promise<EventsResult> {
  const result: EventsResult = {
    streams: 0,
    events: 0,
    reconnects: 0,
    faults: new Map(),
    ends: new Map(),
    violations: [],
  };
  const isOver = () => result.events >= events || result.violations.length > 0;
  await using site = await startFaultSite({
    settings: {
      providers: [{ id: 'local', type: 'simulator' }],
      models: [{ id: 'stamped', routes: [{ provider: 'local' }] }],
    },
  });
  const random = randomFrom(seed);
  const readers = Array.from({ length: load.lanes }, async (_, lane) => {
    const own = randomFrom(seed * 31 + lane);
    while (!isOver()) {
      await readStream(site, own, result);
      onProgress?.(`events: ${result.events} of ${events}, ${result.reconnects} reconnects`);
    }
  });
  while (!isOver()) {
    const fault = kinds[Math.floor(random() * kinds.length)] ?? 'api killed';
    const { over, repaired } = await injectionOf(site, fault, random).begin();
    result.faults.set(fault, (result.faults.get(fault) ?? 0) + 1);
    await over;
    await repaired;
    await site.refill();
    await pause(random() * longestRestMs); // faults come at any moment
  }
  await Promise.all(readers);
  result.violations.push(...(await leftovers(site)));
  return result;
}

/** What a reader has seen of one stream. */
interface Seen {
  id: string | undefined;
  last: number;
  /** Over the data of every event. */
  hash: Hash;
  lastEvent: string;
  problem: string | undefined;
}

/** Creates a stream and reads it to its end, over as many connections as that takes. */
async function readStream(site: FaultSite, random: () => number, result: EventsResult): Promise<void> {
  const seen: Seen = { id: undefined, last: -1, hash: createHash('sha1'), lastEvent: '', problem: undefined };
  const take = (frame: SseFrame) => {
    const number = numberOf(frame);
    if (number !== seen.last + 1) seen.problem ??= `event ${number} came behind event ${seen.last}`;
    seen.id ??= idInEvent(frame);
    seen.last = number;
    seen.lastEvent = frame.event ?? '';
    seen.hash.update(frame.data);
    result.events += 1;
  };
  let connection = await create(site, random);
  let giveUpAt = performance.now() + retry.withinMs;
  for (;;) {
    const before = seen.last;
    if (connection && (await readOn(connection, 1 + random() * load.eventsOfConnection, take))) break;
    if (seen.problem !== undefined) break;
    // Refused, or broken before there was anything to come back to.
    if (seen.id === undefined) return pause(retry.everyMs);
    if (seen.last > before) giveUpAt = performance.now() + retry.withinMs;
    if (performance.now() > giveUpAt) {
      seen.problem = `nothing came behind event ${seen.last} for ${retry.withinMs} ms`;
      break;
    }
    if (!connection) await pause(retry.everyMs); // the pace of a client that tries again
    connection = await resume(site, seen, random);
    result.reconnects += 1;
  }
  result.streams += 1;
  result.ends.set(seen.lastEvent, (result.ends.get(seen.lastEvent) ?? 0) + 1);
  const problem = seen.problem ?? (await differs(site, seen, random));
  if (problem !== undefined) result.violations.push(`response ${seen.id}: ${problem}`);
}

/** Whether the stream was read to its end. */
async function readOn(
  connection: OpenAnswer,
  events: number,
  onFrame: (frame: SseFrame) => void,
): Promise<boolean> {
  try {
    return (await readFrames(connection, { events, onFrame })).isWhole;
  } catch {
    return false;
  }
}

async function create(site: FaultSite, random: () => number): Promise<OpenAnswer | undefined> {
  const input = `Talk for long. [[sluice: tokens=${load.tokens} tokens_per_second=0 first_token_ms=0]]`;
  const body = { model: 'stamped', input, stream: true, background: true };
  return opened(site, random, { method: 'POST', path: '/v1/responses', body });
}

function resume(site: FaultSite, { id, last }: Seen, random: () => number): Promise<OpenAnswer | undefined> {
  return opened(site, random, { path: `/v1/responses/${id}?stream=true&starting_after=${last}` });
}

/** Asks any api; undefined when it does not answer with a stream. */
async function opened(
  { service }: FaultSite,
  random: () => number,
  wanted: Omit<WireRequest, 'key'>,
): Promise<OpenAnswer | undefined> {
  const url = service.apiUrls[Math.floor(random() * service.apiUrls.length)];
  if (url === undefined) return undefined;
  try {
    const answer = await open(url, { ...wanted, key: testerKey });
    if (answer.status === 200) return answer;
    answer.cut();
  } catch {
    // That api is gone.
  }
  return undefined;
}

/** Compares what was seen with the whole of it, as any api shows it once there is one that can. */
async function differs(site: FaultSite, seen: Seen, random: () => number): Promise<string | undefined> {
  const expected = seen.hash.digest('hex');
  for (const giveUpAt = performance.now() + retry.withinMs; ; ) {
    try {
      const frames = await replay(site, Math.floor(random() * 2), seen.id ?? '');
      const hash = createHash('sha1');
      for (const { data } of frames) hash.update(data);
      return hash.digest('hex') === expected ? undefined : 'what was seen is not what is replayed';
    } catch (error) {
      if (performance.now() > giveUpAt) return `it cannot be replayed: ${String(error)}`;
      await pause(retry.everyMs); // the pace of a client that tries again
    }
  }
}
