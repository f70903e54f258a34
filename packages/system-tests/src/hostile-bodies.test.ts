import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { type RunningApi, testService } from './service.ts';

const hostile = 'sk-hostile-0123456789abcd';
const neighbour = 'sk-neighbour-0123456789ab';

/** Longest stall of the event loop, in milliseconds. The goal is 100; a machine that does other things needs slack. */
const longestStallMs = 500;

/** Memory that a large body may take, as a multiple of its size. The goal is 4; threads and collections need slack. */
const mostGrowth = 8;

/** A body is of this many bytes, where its size is what harms. */
const size = 60_000_000;

let api: RunningApi;

const service = testService(() => ({
  settings: {
    keys: [
      { name: 'hostile', key: hostile },
      { name: 'neighbour', key: neighbour },
    ],
  },
}));
beforeAll(async () => {
  [api] = service.apis as [RunningApi];
  // Everything has run once.
  await callerOf(api.url, neighbour).create({ input: 'Hi' });
  await post(filled('{"model":"m","input":"', 'x', '"}', 100_000));
});

function post(body: Buffer, { isChunked = false } = {}): Promise<{ status: number; code: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${api.url}/v1/responses`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${hostile}`,
          'content-type': 'application/json',
          ...(!isChunked && { 'content-length': body.length }),
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => {
          const { error } = JSON.parse(text) as { error?: { code: string } };
          resolve({ status: response.statusCode ?? 0, code: error?.code ?? '' });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** A body with as many of a unit as make it so long. */
function filled(head: string, unit: string, tail: string, bytes = size): Buffer {
  return Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, unit), Buffer.from(tail)]);
}

const pairs = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":"v"`).join(',');

/** A figure of the api's own metrics: the first group of a pattern. */
async function metric(pattern: RegExp): Promise<number> {
  const metrics = await (await fetch(`${api.adminUrl}/metrics`)).text();
  return Number(pattern.exec(metrics)?.[1]);
}

/** The longest stall since the last call. */
const takeStallMs = async () =>
  1_000 * (await metric(/^sluice_event_loop_delay_seconds\{.*quantile="1".*\} (\S+)$/m));

const hasMemory = existsSync('/proc/self/clear_refs');

/** Peak and present memory of the api, in bytes; nothing on systems that do not tell. */
function memory(name: 'VmHWM' | 'VmRSS'): number {
  if (!hasMemory) return 0;
  const [, kib] =
    new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${api.pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1_024;
}

/**
 * Does something beside requests of a neighbour, and says what that was like for the neighbour and the api. After a long stall it
 * does it again, twice at most: what a body causes comes each time, and what another program on the machine causes does not.
 */
async function beside(step: () => Promise<void>) {
  let found = await besideOnce(step);
  for (let again = 0; again < 2 && found.stallMs >= longestStallMs; again += 1)
    found = await besideOnce(step);
  return found;
}

async function besideOnce(step: () => Promise<void>) {
  const caller = callerOf(api.url, neighbour);
  if (hasMemory) writeFileSync(`/proc/${api.pid}/clear_refs`, '5');
  const before = memory('VmRSS');
  await takeStallMs();
  let isOver = false;
  const neighbours: string[] = [];
  const asking = (async () => {
    do {
      const { status, body } = await caller.create({ input: 'Hi' });
      neighbours.push(`${status} ${body.status}`);
    } while (!isOver);
  })();
  await step().finally(() => (isOver = true));
  await asking;
  return {
    neighbours: new Set(neighbours),
    stallMs: await takeStallMs(),
    grownBy: memory('VmHWM') - before,
  };
}

/** Sends bodies beside requests of a neighbour. */
async function sendBeside(bodies: readonly Buffer[], options?: { isChunked: boolean }) {
  let answers: { status: number; code: string }[] = [];
  const { grownBy, ...found } = await beside(async () => {
    answers = await Promise.all(bodies.map((body) => post(body, options)));
  });
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
  return {
    ...found,
    answers: new Set(answers.map(({ status, code }) => `${status} ${code}`)),
    growth: grownBy / bytes,
  };
}

const hostileBodies: [string, string, () => Buffer][] = [
  ['empty objects', '400 invalid_json', () => filled('{"model":"m","input":[', '{},', '{}]}')],
  ['nested lists', '400 invalid_json', () => filled('{"model":"m","input":', '[', '')],
  ['nested objects', '400 invalid_json', () => filled('{"model":"m","input":', '{"a":', '')],
  ['white space', '400 invalid_json', () => filled('{"model":"m","input":"x"', ' ', '}')],
  ['digits', '400 invalid_json', () => filled('{"model":"m","input":"x","n":1', '7', '}')],
  ['numbers that are too large', '400 invalid_json', () => filled('{"model":"m","n":[', '1e999,', '1]}')],
  ['one string', '400 string_above_max_length', () => filled('{"model":"m","input":"', 'x', '"}')],
  ['escapes', '400 string_above_max_length', () => filled('{"model":"m","input":"', '\\"', '"}')],
  ['wide characters', '400 string_above_max_length', () => filled('{"model":"m","input":"', '\u20ac', '"}')],
  [
    'bytes that are no UTF-8 at the end',
    '400 invalid_json',
    () => Buffer.concat([filled('{"model":"m","input":"', 'x', ''), Buffer.from([0xff])]),
  ],
  [
    'a member named twice among 9,999',
    '400 invalid_json',
    () => Buffer.from(`{"model":"m","input":"${'x'.repeat(70_000)}","a":{${pairs(9_998)},"k7":"v"}}`),
  ],
];

describe('a body of one tenant harms nobody', () => {
  it.each(hostileBodies)('with nothing but %s', async (_what, answer, makeBody) => {
    const body = makeBody();
    const found = await sendBeside([body]);
    expect(found.answers).toEqual(new Set([answer]));
    expect(found.neighbours).toEqual(new Set(['200 completed']));
    expect(found.stallMs).toBeLessThan(longestStallMs);
    if (body.length >= size) expect(found.growth).toBeLessThan(mostGrowth);
  });

  it('in chunks without an end', async () => {
    const found = await sendBeside([filled('{"model":"m","input":"', 'x', '"}', 70_000_000)], {
      isChunked: true,
    });
    expect(found.answers).toEqual(new Set(['413 request_too_large']));
    expect(found.neighbours).toEqual(new Set(['200 completed']));
    expect(found.stallMs).toBeLessThan(longestStallMs);
  });

  it('twelve times at once, with 190,000 pairs of metadata each', async () => {
    const body = Buffer.from(`{"model":"m","input":"x","metadata":{${pairs(190_000)}}}`);
    const found = await sendBeside(Array.from({ length: 12 }, () => body));
    expect(found.answers).toEqual(new Set(['400 invalid_json']));
    expect(found.neighbours).toEqual(new Set(['200 completed']));
    expect(found.stallMs).toBeLessThan(longestStallMs);
    expect(found.growth).toBeLessThan(mostGrowth);
  });
});

it('small requests that ask for a large input that is stored harm nobody', async () => {
  const text = { type: 'input_text', text: 'y'.repeat(9_900_000) };
  const content = Array.from({ length: 5 }, () => text);
  const caller = callerOf(api.url, hostile);
  const { status, body: stored } = await caller.create({ input: [{ role: 'user', content }] });
  expect(status).toBe(200);
  const itemId = `${stored.id.replace('create-response_', 'msg_')}00000`;
  const headers = { authorization: `Bearer ${hostile}` };
  const list = async () => {
    const answer = await fetch(`${api.url}/v1/responses/${stored.id}/input_items`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  };
  const refer = async (to: string) =>
    (await caller.create({ input: [{ type: 'item_reference', id: to }], store: false })).status;
  const found = await beside(async () => {
    // One after the other each is read whole; at once most are refused.
    expect(await list()).toBe(200);
    expect(await refer(itemId)).toBe(200);
    expect(await refer(itemId.replace(/0{5}$/, '00009'))).toBe(404);
    const statuses = new Set(await Promise.all(Array.from({ length: 16 }, list)));
    expect(statuses).toEqual(new Set([200, 429]));
  });
  expect(found.neighbours).toEqual(new Set(['200 completed']));
  expect(found.stallMs).toBeLessThan(longestStallMs);
  expect(found.grownBy / 50_000_000).toBeLessThan(mostGrowth);
});

it('a large body that is sound is taken, beside those of others', async () => {
  const input = Array.from({ length: 6 }, () => ({ role: 'user', content: 'y'.repeat(9_900_000) }));
  const body = Buffer.from(JSON.stringify({ model: 'simulator', input }));
  const found = await sendBeside([body]);
  expect(found.answers).toEqual(new Set(['200 ']));
  expect(found.neighbours).toEqual(new Set(['200 completed']));
  expect(found.stallMs).toBeLessThan(longestStallMs);
  expect(found.growth).toBeLessThan(mostGrowth);
});

/** How often the api has collected its whole heap. */
const collections = () => metric(/^nodejs_gc_duration_seconds_count\{.*kind="major".*\} (\d+)$/m);

it('large bodies one after the other have the heap collected for every third at most', async () => {
  const count = 15;
  const body = Buffer.from(JSON.stringify({ model: 'simulator', input: 'y'.repeat(4_000_000) }));
  // Its heap has grown by what has come before.
  const before = await collections();
  expect(before).toBeGreaterThan(0);
  for (let sent = 0; sent < count; sent += 1) expect((await post(body)).status).toBe(200);
  expect((await collections()) - before).toBeLessThanOrEqual(count / 3 + 1);
});
