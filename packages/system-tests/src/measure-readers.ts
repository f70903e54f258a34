import { eventually, type SseFrame } from '@sluice/testing';
import { type DeliverySite, siteKeys } from './delivery-site.ts';
import { idIn, wholeReplay } from './measure-cuts.ts';
import { numberOf, type OpenAnswer, readFrames, send } from './wire.ts';

export interface ReadersOptions {
  /** How many readers read, each from another offset, on alternating apis. */
  readers: number;
  /** How many readers of the first api open the stream and take nothing. */
  stalled: number;
  /** How many pieces the answer of the model has. */
  pieces: number;
}

export interface Readers {
  /** Readers whose events differ, byte for byte, from a later replay after the same offset. */
  differing: number;
  /** Characters of events that all readers received together. */
  characters: number;
  /** Time from the moment the model goes on to the last byte of the last reader, in milliseconds. */
  tookMs: number;
  /** Memory of the api that each stalled reader holds, in bytes: the memory with them less the memory without. */
  bytesEach: number;
  /** Time until the api has given up the last stalled reader, in milliseconds. Undefined if that was not awaited. */
  givenUpAfterMs: number | undefined;
  /** Readers that were given up and whose events, before and after they came back, differ from the replay. */
  differingAfterResume: number;
}

/**
 * Lets many readers read one stream while it runs, and compares what they get. Measures what readers cost that take
 * nothing. `waitForEnd` waits until the api closes the stalled readers, and lets them come back for the rest.
 */
export async function measureReaders(
  site: DeliverySite,
  options: ReadersOptions,
  waitForEnd: boolean = false,
): Promise<Readers> {
  const { pieces } = options;
  const call = site.upstream.expect(
    'one word',
    Array.from({ length: pieces }, (_, at) => ` ${at}`),
  );
  const body = { model: 'scripted', input: call.input, background: true };
  const { frames } = await readFrames(await site.stream(1, body), { events: 1 });
  const id = idIn(frames[0]);
  await call.arrived.wait();

  const stalled = await Promise.all(Array.from({ length: options.stalled }, () => site.replay(0, id)));
  const offsets = Array.from(
    { length: options.readers },
    (_, at) => Math.floor((at * pieces) / options.readers) - 1,
  );
  const opened = await Promise.all(offsets.map((offset, at) => site.replay(at, id, offset)));
  const startedAt = performance.now();
  call.finish();
  const read = await Promise.all(opened.map((answer) => readFrames(answer)));
  const tookMs = performance.now() - startedAt;

  const whole = await wholeReplay(site.replay(1, id));
  const behind = (cursor: number) => joined(whole.filter((frame) => numberOf(frame) > cursor));
  const isDifferent = ({ frames: seen, isWhole }: Awaited<ReturnType<typeof readFrames>>, cursor: number) =>
    !isWhole || joined(seen) !== behind(cursor);
  const result: Readers = {
    differing: read.filter((part, at) => isDifferent(part, offsets[at] ?? -1)).length,
    characters: read.reduce((sum, { frames: seen }) => sum + joined(seen).length, 0),
    tookMs,
    bytesEach: 0,
    givenUpAfterMs: undefined,
    differingAfterResume: 0,
  };
  if (stalled.length === 0) return result;

  const withThem = await liveBytes(site);
  if (waitForEnd) {
    await eventually(async () => (await gauge(site, 'sluice_open_requests')) === 0, { timeoutMs: 120_000 });
    result.givenUpAfterMs = performance.now() - startedAt;
    const resumed = await Promise.all(stalled.map((answer) => comeBack(site, id, answer)));
    result.differingAfterResume = resumed.filter((seen) => joined(seen) !== joined(whole)).length;
  } else {
    for (const { cut } of stalled) cut();
    await eventually(async () => (await gauge(site, 'sluice_open_requests')) === 0);
  }
  result.bytesEach = (withThem - (await liveBytes(site))) / stalled.length;
  return result;
}

/** Reads what was sent before the connection was closed, and fetches the rest from the other api. */
async function comeBack(site: DeliverySite, id: string, answer: OpenAnswer): Promise<SseFrame[]> {
  const seen: SseFrame[] = [];
  await readFrames(answer, { onFrame: (frame) => seen.push(frame) }).then(
    () => Promise.reject(new Error('a stalled stream ended as if it had been read')),
    () => undefined,
  );
  const last = seen.at(-1);
  const rest = await wholeReplay(site.replay(1, id, last === undefined ? -1 : numberOf(last)));
  return [...seen, ...rest];
}

function joined(frames: readonly SseFrame[]): string {
  return frames.map(({ event, data }) => `${event} ${data}`).join('\n');
}

/** How many bodies of a megabyte make the garbage collector run at least once. */
const broken = { bodies: 200, body: 'no JSON '.repeat(131_072) };

/**
 * The memory that the first api holds, without garbage: the smallest of several looks. Before each look the api gets a
 * body that it refuses, and one of these bodies has made its garbage collector run.
 */
async function liveBytes(site: DeliverySite): Promise<number> {
  const path = '/v1/responses';
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < broken.bodies; at += 1) {
    const { status } = await send(site.api(0), {
      method: 'POST',
      path,
      key: siteKeys.tester,
      body: broken.body,
    });
    if (status !== 400) throw new Error(`a broken body was answered ${status}`);
    const heap = await gauge(site, 'nodejs_heap_size_used_bytes');
    least = Math.min(least, heap + (await gauge(site, 'nodejs_external_memory_bytes')));
  }
  return least;
}

/** A number from the metrics of the first api. */
async function gauge(site: DeliverySite, name: string): Promise<number> {
  const answer = await fetch(`${site.service.adminUrls[0]}/metrics`);
  const text = await answer.text();
  const [, value] = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text) ?? [];
  if (value === undefined) throw new Error(`no ${name}, status ${answer.status}:\n${text.slice(0, 500)}`);
  return Number(value);
}
