import { checkEventGrammar, type SseFrame } from '@sluice/testing';
import { type DeliverySite, loggedEvents } from './delivery-site.ts';
import { concurrently, randomFrom } from './statistics.ts';
import { numberOf, type OpenAnswer, readFrames } from './wire.ts';

/** What readers received of background streams that were cut and resumed on the other api. */
export interface CutStreams {
  streams: number;
  cuts: number;
  events: number;
  /** Sequence numbers that a reader never received. */
  gaps: number;
  /** Sequence numbers that a reader received more than once. */
  repeats: number;
  /** Events whose data differ from the log, or from a whole replay by either api. */
  differences: number;
  /** Rules of the grammar that all the events of a reader together break. */
  violations: number;
  /** The first problem. */
  first: string | undefined;
}

/** Starts streams in the background, and cuts each of them several times at a random byte, while it runs and after. */
export async function measureCuts(
  site: DeliverySite,
  options: { streams: number; cutsEach: number; atATime: number; seed: number },
): Promise<CutStreams> {
  const random = randomFrom(options.seed);
  const total: CutStreams = {
    streams: options.streams,
    cuts: 0,
    events: 0,
    gaps: 0,
    repeats: 0,
    differences: 0,
    violations: 0,
    first: undefined,
  };
  await concurrently(options.streams, options.atATime, async (index) => {
    const { id, frames, cuts } = await followWithCuts(site, index, options.cutsEach, random);
    const problems = await compare(site, id, frames);
    total.cuts += cuts;
    total.events += frames.length;
    total.gaps += problems.gaps.length;
    total.repeats += problems.repeats.length;
    total.differences += problems.differences.length;
    total.violations += problems.violations.length;
    const [first] = Object.values(problems).flat();
    if (first !== undefined) total.first ??= `${id}: ${first}`;
  });
  return total;
}

/** About as many bytes as the streams below have. A cut may be after the end of a stream. */
const usualBytes = 16_000;

async function followWithCuts(site: DeliverySite, index: number, cutsEach: number, random: () => number) {
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

/** Compares what a reader received with the log itself, and with whole replays by both apis. */
async function compare(site: DeliverySite, id: string, frames: readonly SseFrame[]) {
  const logged = await loggedEvents(site.service.redis, id);
  const replays = await Promise.all([0, 1].map((at) => wholeReplay(site.replay(at, id))));
  const seen = frames.map(numberOf);
  const gaps: string[] = [];
  for (let number = 0; number < logged.length; number += 1) {
    if (!seen.includes(number)) gaps.push(`event ${number} was never seen`);
  }
  const repeats = seen
    .filter((number, at) => seen.indexOf(number) !== at)
    .map((number) => `event ${number} came twice`);
  const differences = frames.flatMap(({ event, data }) => {
    const number = numberOf({ event, data });
    const isDifferent =
      // A life-cycle event carries the response, which the log does not contain.
      (!data.startsWith(`{"type":"${event}","sequence_number":${number},"response":`) &&
        data !== logged[number]) ||
      logged[number]?.startsWith(`{"type":"${event}"`) !== true ||
      replays.some((replay) => replay[number]?.data !== data || replay[number]?.event !== event);
    return isDifferent ? [`event ${number} is not what the log says`] : [];
  });
  for (const replay of replays) {
    if (replay.length !== logged.length)
      differences.push(`a replay has ${replay.length} of ${logged.length} events`);
  }
  const violations = checkEventGrammar(frames.map(({ data }): unknown => JSON.parse(data)));
  return { gaps, repeats, differences, violations };
}

export async function wholeReplay(opening: Promise<OpenAnswer>): Promise<SseFrame[]> {
  const answer = await opening;
  const { frames, isWhole } = await readFrames(answer);
  if (answer.status !== 200 || !isWhole) throw new Error(`a replay broke off, status ${answer.status}`);
  return frames;
}

/** The id of the response, from its first event. */
export function idIn(frame: SseFrame | undefined): string {
  if (frame === undefined) throw new Error('the stream has no first event');
  return (JSON.parse(frame.data) as { response: { id: string } }).response.id; // `response.created` carries it
}
