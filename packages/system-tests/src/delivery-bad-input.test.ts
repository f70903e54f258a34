import { eventually } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliverySite, responseIn, siteKeys, startDeliverySite } from './delivery-site.ts';
import { startRunning } from './running-response.ts';
import { storeContents, writtenBetween } from './store-contents.ts';
import { open, type OpenAnswer, readFrames, send, type WireAnswer, type WireRequest } from './wire.ts';

const site = deliverySite();
/** Ids of responses that a caller must not reach, or may reach in one way only. */
let ids: Record<
  'own' | 'deleted' | 'foreign' | 'foreignRunning' | 'running' | 'failed' | 'cancelled' | 'unstored',
  string
>;
let finishAll: () => Promise<void>;

beforeAll(async () => {
  const key = siteKeys.stranger;
  const asStranger = (body: object) =>
    send(site.api(1), { method: 'POST', path: '/v1/responses', key, body });
  const [own, deleted, failed, cancelled, unstored, foreign] = await Promise.all([
    site.create(0, { model: 'simulator', input: 'Mine.' }).then(responseIn),
    site.create(0, { model: 'simulator', input: 'Deleted.' }).then(responseIn),
    site
      .create(0, { model: 'simulator', input: 'Break. [[sluice: fail=model_error]]', background: true })
      .then(responseIn),
    site
      .create(0, { model: 'simulator', input: 'Stop. [[sluice: hang]]', background: true })
      .then(responseIn),
    site.create(0, { model: 'simulator', input: 'Unstored.', store: false }).then(responseIn),
    asStranger({ model: 'simulator', input: 'Theirs.', stream: false }).then(responseIn),
  ]);
  await send(site.api(0), { method: 'DELETE', path: `/v1/responses/${deleted.id}`, key: siteKeys.tester });
  await site.cancel(0, cancelled.id);
  await eventually(async () => responseIn(await site.get(0, failed.id)).status === 'failed');
  const theirs = site.upstream.expect('nothing');
  const foreignRunning = responseIn(
    await asStranger({ model: 'scripted', input: theirs.input, background: true }),
  );
  await theirs.arrived.wait();
  const running = await startRunning(site, 'before the first token', 0);
  finishAll = async () => {
    theirs.finish();
    running.finish();
    await running.answered;
  };
  ids = {
    own: own.id,
    deleted: deleted.id,
    failed: failed.id,
    cancelled: cancelled.id,
    unstored: unstored.id,
    foreign: foreign.id,
    foreignRunning: foreignRunning.id,
    running: running.id,
  };
});
afterAll(() => finishAll?.());

const unknown = `create-response_${'A'.repeat(32)}`;

/** An answer without its own id and times. */
function said({ status, headers, text }: WireAnswer) {
  const { 'x-request-id': _, date: __, 'openai-processing-ms': ___, ...rest } = headers;
  return { status, headers: rest, text };
}

/** The members of an error that a client decides by. */
function errorOf({ status, text }: WireAnswer) {
  const { error } = JSON.parse(text) as { error: { type: string; code: string; param: string | null } };
  return { status, type: error.type, code: error.code, param: error.param };
}

/** What is stored once background writes of earlier requests are done, which is when three looks agree. */
async function settledContents(): Promise<Map<string, string>> {
  let looks = 0;
  let last = await storeContents(site.service.redis);
  return eventually(async () => {
    const next = await storeContents(site.service.redis);
    looks = writtenBetween(last, next).length === 0 ? looks + 1 : 0;
    last = next;
    return looks >= 3 && next;
  });
}

/** Sends a request and checks that it wrote nothing. */
async function asked(...requests: WireRequest[]): Promise<WireAnswer[]> {
  const before = await settledContents();
  const answers: WireAnswer[] = [];
  for (const [at, request] of requests.entries()) answers.push(await send(site.api(at), request));
  expect(writtenBetween(before, await storeContents(site.service.redis))).toEqual([]);
  for (const { status } of answers) expect(status).toBeLessThan(500);
  return answers;
}

const key = siteKeys.tester;
const create = (body: object, headers: Record<string, string> = {}): WireRequest => ({
  method: 'POST',
  path: '/v1/responses',
  key,
  body: { model: 'simulator', input: 'Hello.', ...body },
  headers,
});

/** Ids of which none names anything that the caller may see, as a body has them. */
const strangeIds: Record<string, () => string> = {
  'a response of another tenant': () => ids.foreign,
  'a running response of another tenant': () => ids.foreignRunning,
  'a deleted response': () => ids.deleted,
  'an unstored response': () => ids.unstored,
  'an id of another service': () => 'resp_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b',
  'an id that is too short': () => 'create-response_short',
  'an id that is too long': () => `create-response_${'A'.repeat(65)}`,
  'an own id in capitals': () => ids.own.toUpperCase(),
  'an own id with a space behind it': () => `${ids.own} `,
  'an own id with a line break behind it': () => `${ids.own}\n`,
  'an own id with a zero byte behind it': () => `${ids.own}\0`,
  'an own id with its key in front': () => `response:${ids.own}`,
  'a zero byte': () => '\0',
  'a Redis command': () => '\r\nFLUSHALL\r\n',
  'control characters': () => '\u0001\u001b[2J\u007f\u0085\u2028',
  'a star': () => '*',
  'the prefix and a star': () => 'create-response_*',
  'as many question marks as an id has letters': () => `create-response_${'?'.repeat(32)}`,
  'a class of letters': () => 'create-response_[A-Za-z0-9]*',
  'a path upwards': () => '../../metrics',
  'a slash': () => `${ids.own}/input_items`,
  'a word of the prototype': () => '__proto__',
  'a smiling face': () => '\u{1f600}',
};

describe.each(Object.keys(strangeIds))('%s', (name) => {
  const strange = () => strangeIds[name]?.() ?? '';

  it('is answered on every path like an id that nobody ever had', async () => {
    const paths = (id: string): WireRequest[] =>
      ['/v1', '/api/v1'].flatMap((mount) => {
        const path = `${mount}/responses/${encodeURIComponent(id)}`;
        return [
          { path, key },
          { path: `${path}?stream=true`, key },
          { path: `${path}?stream=true&starting_after=0`, key },
          { path: `${path}/input_items`, key },
          { method: 'POST', path: `${path}/cancel`, key },
          { method: 'DELETE', path, key },
        ];
      });
    const known = await asked(...paths(unknown));
    const answers = await asked(...paths(strange()));
    expect(answers.map(said)).toEqual(known.map(said));
    expect(errorOf(known[0] ?? known[1] ?? fail())).toEqual({
      status: 404,
      type: 'not_found',
      code: 'not_found',
      param: 'id',
    });
  });

  it('is answered in a body like an id that nobody ever had', async () => {
    const id = strange();
    const bodies = (given: string, item: string) => [
      create({ previous_response_id: given }),
      create({ previous_response_id: given, stream: true }),
      create({ previous_response_id: given, background: true }),
      create({ input: [{ type: 'item_reference', id: given }] }),
      create({ input: [{ type: 'item_reference', id: item }] }),
      create({ input: [{ id: item }] }),
    ];
    const answers = await asked(...bodies(id, id.replace('create-response_', 'msg_').concat('00000')));
    const previous = {
      status: 400,
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    };
    const item = { status: 404, type: 'not_found', code: 'item_not_found', param: 'input' };
    expect(answers.map(errorOf)).toEqual([previous, previous, previous, item, item, item]);
    for (const { text } of answers) {
      expect(text).not.toMatch(/[\u0080-\uffff]|\\u00|\\[nr]/);
      expect(text.length).toBeLessThan(500);
    }
  });
});

it('an id that is far too long is answered like any other on every path, and refused in a body', async () => {
  const long = 'A'.repeat(700);
  const path = `/v1/responses/${long}`;
  const [known, ...onPaths] = await asked(
    { path: `/v1/responses/${unknown}`, key },
    { path, key },
    { path: `${path}?stream=true`, key },
    { method: 'POST', path: `${path}/cancel`, key },
    { method: 'DELETE', path, key },
    { path: `${path}/input_items`, key },
  );
  for (const answer of onPaths) expect(said(answer)).toEqual(said(known ?? fail()));
  const inBodies = await asked(
    create({ previous_response_id: long }),
    create({ input: [{ type: 'item_reference', id: long }] }),
  );
  expect(inBodies.map(errorOf)).toEqual(
    ['previous_response_id', 'input[0].id'].map((param) => ({
      status: 400,
      type: 'invalid_request_error',
      code: 'string_above_max_length',
      param,
    })),
  );
});

function fail(): never {
  throw new Error('no answer');
}

it('what a request writes would be seen here', async () => {
  const before = await storeContents(site.service.redis);
  const { id } = responseIn(await send(site.api(0), create({})));
  const written = writtenBetween(before, await storeContents(site.service.redis));
  expect(written.filter((name) => name.endsWith(id))).not.toEqual([]);
});

it('the items of a response of another tenant cannot be referred to', async () => {
  const theirs = await send(site.api(0), { path: `/v1/responses/${ids.foreign}`, key: siteKeys.stranger });
  const { output } = JSON.parse(theirs.text) as { output: { id: string }[] };
  const listed = await send(site.api(0), {
    path: `/v1/responses/${ids.foreign}/input_items`,
    key: siteKeys.stranger,
  });
  const { data } = JSON.parse(listed.text) as { data: { id: string }[] };
  const found = [...output, ...data].map(({ id }) => id);
  expect(found).toHaveLength(2);
  const references = found.map((id) => create({ input: [{ type: 'item_reference', id }] }));
  for (const answer of await asked(...references)) {
    expect(errorOf(answer)).toMatchObject({ status: 404, code: 'item_not_found' });
  }
});

/** Type and number of each event of a stream, which is whole. */
async function toldBy(stream: OpenAnswer): Promise<[string, number][]> {
  const { frames, isWhole } = await readFrames(stream);
  expect(isWhole).toBe(true);
  return frames.map(({ data }) => {
    const event = JSON.parse(data) as { type: string; sequence_number: number }; // as the grammar of the wire has it
    return [event.type, event.sequence_number];
  });
}

describe('starting_after', () => {
  const stream = (query: string): WireRequest => ({
    path: `/v1/responses/${ids.own}?stream=true${query}`,
    key,
  });

  it('beyond the end is told the end, under the next number', async () => {
    expect(await toldBy(await site.replay(1, ids.own, 100))).toEqual([['response.completed', 101]]);
  });

  it('of the greatest number is told that the stream is over', async () => {
    const [answer] = await asked(stream('&starting_after=9007199254740991'));
    expect(answer).toMatchObject({ status: 200, text: 'data: [DONE]\n\n' });
  });

  it('beyond what there is waits for what comes', async () => {
    const { id, finish, answered } = await startRunning(site, 'in mid-stream', 0);
    const ahead = readFrames(await site.replay(1, id, 8));
    // Its head does not wait for something to say, which the first comment of a silent stream would be after 15 s.
    const far = await site.replay(1, id, 10_000);
    finish();
    await answered;
    const { frames, isWhole } = await ahead;
    expect(isWhole).toBe(true);
    expect(frames.map(({ data }) => data.slice(0, 60))).toEqual(
      (await readFrames(await site.replay(0, id, 8))).frames.map(({ data }) => data.slice(0, 60)),
    );
    expect(await toldBy(far)).toEqual([['response.completed', 10_001]]);
  });
});

it.each(['failed', 'cancelled', 'running'] as const)(
  'a chain to a response that is %s is refused',
  async (state) => {
    const answers = await asked(
      create({ previous_response_id: ids[state] }),
      create({ previous_response_id: ids[state], stream: true }, { 'idempotency-key': 'chain' }),
    );
    for (const answer of answers) {
      expect(errorOf(answer)).toEqual({
        status: 400,
        type: 'invalid_request_error',
        code: 'invalid_value',
        param: 'previous_response_id',
      });
    }
  },
);

it('a stream whose events are no longer kept is refused, and the response is still there', async () => {
  await using short = await startDeliverySite({
    apis: 1,
    workers: 1,
    settings: { retention: { eventLogSeconds: 1 } },
  });
  const answer = await short.stream(0, { model: 'simulator', input: 'Keep it short.' });
  const { frames } = await readFrames(answer);
  const { response } = JSON.parse(frames.at(-1)?.data ?? '') as { response: { id: string } };
  const path = `/v1/responses/${response.id}`;
  // The second is over when the store's clock says so.
  const refused = await eventually(async () => {
    const opened = await open(short.api(0), { path: `${path}?stream=true`, key });
    opened.cut();
    return opened.status === 200
      ? undefined
      : send(short.api(0), { path: `${path}?stream=true&starting_after=3`, key });
  });
  expect(errorOf(refused)).toEqual({
    status: 400,
    type: 'invalid_request_error',
    code: 'stream_expired',
    param: 'stream',
  });
  const kept = await short.get(0, response.id);
  expect(JSON.parse(kept.text)).toEqual(response);
});
