import type { SseFrame } from '@sluice/testing';
import type { DeliverySite } from './delivery-site.ts';
import { idIn, wholeReplay } from './measure-cuts.ts';
import { numberOf, readFrames } from './wire.ts';

export interface ReadersOptions {
  /** Readers that read, each from another offset. */
  readers: number;
  /** Readers that open the stream and take nothing. */
  stalled: number;
  /** How much the model says: so many pieces of so many characters. */
  pieces: number;
  pieceLength: number;
}

export interface Readers {
  /** Readers whose events are not, byte for byte, what a later replay has behind their offset. */
  differing: number;
  /** Bytes of events that the readers took together. */
  bytes: number;
  /** From the moment the model goes on to the last byte of the last reader, in milliseconds. */
  tookMs: number;
  /** The largest resident size of the api while this went on, in bytes. */
  peakBytes: number;
}

/** Lets many read one stream while it runs, over one api, and looks at what they get and at what they cost. */
export async function measureReaders(site: DeliverySite, options: ReadersOptions): Promise<Readers> {
  const { pieces, pieceLength } = options;
  const rest = Array.from({ length: pieces }, (_, at) => `${at} `.padEnd(pieceLength, 'wordy '));
  const call = site.upstream.expect('one word', rest);
  const { frames } = await readFrames(
    await site.stream(1, { model: 'scripted', input: call.input, background: true }),
    { events: 1 },
  );
  const id = idIn(frames[0]);
  await call.arrived.wait();

  const stalled = await Promise.all(Array.from({ length: options.stalled }, () => site.replay(0, id)));
  const offsets = Array.from(
    { length: options.readers },
    (_, at) => Math.floor((at * pieces) / options.readers) - 1,
  );
  const opened = await Promise.all(offsets.map((offset) => site.replay(0, id, offset)));
  const watch = watchMemory(site);
  const startedAt = performance.now();
  call.finish();
  const read = await Promise.all(opened.map((answer) => readFrames(answer)));
  const tookMs = performance.now() - startedAt;
  const peakBytes = await watch.stop();
  for (const { cut } of stalled) cut();

  const whole = await wholeReplay(site.replay(1, id));
  const differing = read.filter(({ frames: seen, isWhole }, at) => {
    const expected = whole.filter((frame) => numberOf(frame) > (offsets[at] ?? -1));
    return !isWhole || joined(seen) !== joined(expected);
  }).length;
  const bytes = read.reduce((sum, { frames: seen }) => sum + joined(seen).length, 0);
  return { differing, bytes, tookMs, peakBytes };
}

function joined(frames: readonly SseFrame[]): string {
  return frames.map(({ event, data }) => `${event} ${data}`).join('\n');
}

/** Reads the size of the first api again and again, by its own metrics. */
function watchMemory(site: DeliverySite): { stop: () => Promise<number> } {
  const url = `${site.service.adminUrls[0]}/metrics`;
  let isOver = false;
  const watching = (async () => {
    let peak = 0;
    do peak = Math.max(peak, await residentBytes(url));
    while (!isOver);
    return peak;
  })();
  return {
    stop() {
      isOver = true;
      return watching;
    },
  };
}

async function residentBytes(url: string): Promise<number> {
  const answer = await fetch(url);
  const text = await answer.text();
  const [, value] = /^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)$/m.exec(text) ?? [];
  if (value === undefined) throw new Error(`no resident size, status ${answer.status}:\n${text}`);
  return Number(value);
}
