import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { startLocalRedis } from '@sluice/testing';
import { renderDeliveryPage, type Table } from './delivery-page.ts';
import { type DeliverySite, startDeliverySite } from './delivery-site.ts';
import { measureCuts } from './measure-cuts.ts';
import {
  measureCancels,
  measureDepartures,
  measureKilledApi,
  measureQueuedDepartures,
} from './measure-ends.ts';
import { measureRaces } from './measure-races.ts';
import { measureReaders } from './measure-readers.ts';
import { windows } from './running-response.ts';
import { percentile } from './statistics.ts';

/**
 * Measures the delivery of responses by two built apis and two built workers, and writes the page of results:
 * `npx node --conditions=sluice-source packages/system-tests/src/measure-delivery.ts [--quick] [--seed n]`.
 * A quick run shows that everything works, and writes nothing.
 */
const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, seed: { type: 'string' } },
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const page = new URL('../../../docs/delivery-measurements.md', import.meta.url);

/** How often each measurement is made. */
const size = values.quick
  ? { streams: 50, cancelsEach: 10, races: 30, leavesEach: 10, kills: 1, stalled: 40 }
  : { streams: 1_000, cancelsEach: 200, races: 1_000, leavesEach: 200, kills: 8, stalled: 40 };

async function main(): Promise<void> {
  const startedAt = performance.now();
  const redis = await startLocalRedis();
  try {
    await using site = await startDeliverySite({ redisUrl: redis.url });
    const tables = [
      await cuts(site),
      await readers(site),
      await cancels(site),
      await races(site),
      await departures(site),
      await killedApis(site),
    ];
    const text = await renderDeliveryPage({
      tables,
      seed,
      tookMs: performance.now() - startedAt,
      redis: site.service.redis.client,
    });
    if (values.quick) console.log(text);
    else {
      await mkdir(new URL('.', page), { recursive: true });
      await writeFile(page, text);
    }
  } finally {
    await redis.stop();
  }
}

async function cuts(site: DeliverySite): Promise<Table> {
  const cutsEach = 5;
  const result = await measureCuts(site, { streams: size.streams, cutsEach, atATime: 60, seed });
  say('cuts', result);
  return {
    title: 'Streams that are cut and resumed',
    text: `Background streams, each cut up to ${cutsEach} times at a random byte and resumed on the other api. What a client saw in all is held, byte for byte in \`data:\`, against the log in Redis and against whole replays by both apis.`,
    columns: ['', 'count'],
    rows: [
      ['streams', count(result.streams)],
      ['cuts', count(result.cuts)],
      ['events', count(result.events)],
      ['gaps', count(result.gaps)],
      ['repeats', count(result.repeats)],
      ['events that differ', count(result.differences)],
      ['breaches of the grammar', count(result.violations)],
    ],
  };
}

async function readers(site: DeliverySite): Promise<Table> {
  const pieces = 40_000;
  const many = await measureReaders(site, { readers: 20, stalled: 0, pieces: 3_000 });
  const alone = await measureReaders(site, { readers: 2, stalled: 0, pieces });
  const beside = await measureReaders(site, { readers: 2, stalled: size.stalled, pieces }, !values.quick);
  say('readers', { many, alone, beside });
  return {
    title: 'Readers of one stream',
    text: `Twenty readers start at different offsets; their bytes are held against a later replay. Then ${size.stalled} readers of one api take nothing while others read a stream of ${count(pieces)} pieces, longer than the kernel buffers. The memory is that of the api with them less that without, after a collection.`,
    columns: ['', 'measured', 'goal'],
    rows: [
      ['readers of twenty whose bytes differ', count(many.differing), '0'],
      ['memory for each stalled reader', `${count(beside.bytesEach / 1024)} KiB`, '256 KiB'],
      ['readers beside them whose bytes differ', count(beside.differing), '0'],
      [
        'time of these readers',
        milliseconds(beside.tookMs),
        `${milliseconds(alone.tookMs)} without stalled ones`,
      ],
      ...(beside.givenUpAfterMs === undefined
        ? []
        : [
            [
              'last stalled reader closed after',
              milliseconds(beside.givenUpAfterMs),
              '30 s without draining',
            ],
            [
              'stalled readers whose bytes differ after they resumed',
              count(beside.differingAfterResume),
              '0',
            ],
          ]),
    ],
  };
}

async function cancels(site: DeliverySite): Promise<Table> {
  const rows: string[][] = [];
  const all: number[] = [];
  for (const window of windows) {
    const times = await measureCancels(site, window, size.cancelsEach);
    all.push(...times);
    rows.push(timesRow(window, times, 'p99 500 ms, max 2 s'));
  }
  rows.push(timesRow('all', all, 'p99 500 ms, max 2 s'));
  const queued = await measureQueuedDepartures(site, size.cancelsEach, 'cancel');
  rows.push(timesRow('in the queue, to the status', queued.times, `${queued.upstreamCalls} upstream calls`));
  say('cancels', rows);
  return {
    title: 'From a cancel to the closed connection of the upstream',
    text: 'Asked for over the api that does not serve the caller. The caller is told the very object that the canceller gets.',
    columns: timesColumns,
    rows,
  };
}

async function races(site: DeliverySite): Promise<Table> {
  const result = await measureRaces(site, size.races, seed);
  say('races', result);
  return {
    title: 'Cancels that race a completion',
    text: 'Six doors are compared for each: GET on both apis, the answer to the cancel, what the caller was told (a body or the end of a stream), and replays by both apis.',
    columns: ['', 'count'],
    rows: [
      ['races', count(result.races)],
      ['won by the completion', count(result.completed)],
      ['won by the cancel', count(result.cancelled)],
      ['doors that told something else', count(result.disagreements)],
    ],
  };
}

async function departures(site: DeliverySite): Promise<Table> {
  const rows: string[][] = [];
  const queued = await measureQueuedDepartures(site, size.leavesEach);
  rows.push(timesRow('in the queue, to the status', queued.times, `${queued.upstreamCalls} upstream calls`));
  for (const window of windows) {
    rows.push(timesRow(window, await measureDepartures(site, window, size.leavesEach), '1 s'));
  }
  say('departures', rows);
  return {
    title: 'From a caller who leaves to the closed connection of the upstream',
    text: 'The connection of the caller is cut; nobody else is attached.',
    columns: timesColumns,
    rows,
  };
}

async function killedApis(site: DeliverySite): Promise<Table> {
  const times: number[] = [];
  const queuedTimes: number[] = [];
  let upstreamCalls = 0;
  for (let at = 0; at < size.kills; at += 1) {
    const killed = await measureKilledApi(site, 8);
    times.push(...killed.times);
    queuedTimes.push(...killed.queued.times);
    upstreamCalls += killed.queued.upstreamCalls;
  }
  const rows = [
    timesRow('running', times, '10 s'),
    timesRow('in the queue, to the status', queuedTimes, `${upstreamCalls} upstream calls`),
  ];
  say('killed', rows);
  return {
    title: 'From `kill -9` of an api to the closed connections of the upstream',
    text: `Callers in all of these windows are attached to an api of their own, which is killed; ${size.kills} times.`,
    columns: timesColumns,
    rows,
  };
}

const timesColumns = ['when', 'tries', 'p50', 'p99', 'max', 'goal'];

function timesRow(what: string, times: readonly number[], goal: string): string[] {
  return [
    what,
    count(times.length),
    milliseconds(percentile(times, 0.5)),
    milliseconds(percentile(times, 0.99)),
    milliseconds(Math.max(...times)),
    goal,
  ];
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function milliseconds(value: number): string {
  return `${value >= 100 ? count(value) : value.toFixed(1)} ms`;
}

function say(what: string, result: unknown): void {
  console.error(`${what}: ${JSON.stringify(result)}`);
}

await main();
