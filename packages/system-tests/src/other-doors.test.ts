import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { eventually, within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { deliverySite, siteKeys } from './delivery-site.ts';
import { type OpenAnswer, open, readFrames } from './wire.ts';
import { runningAttempts } from './worker-metrics.ts';

/** The members of a frame of either protocol that these tests read. */
interface Frame {
  type?: string;
  choices?: { delta: { content?: string }; finish_reason: string | null }[];
  delta?: { text?: string; stop_reason?: string };
  error?: { type: string; message: string; code?: string; details?: { error_code: string } };
}

interface Door {
  path: string;
  body: (input: string) => object;
  /** The text of a whole answer. */
  textOf: (body: string) => string;
  /** The text that a frame adds. */
  deltaOf: (frame: Frame) => string;
  /** Whether a frame is the last one of a whole answer, but for `[DONE]`. */
  isEnd: (frame: Frame) => boolean;
  hasDone: boolean;
  /** The last frame of a stream that has failed. */
  failure: object;
}

const messagesOf = (content: string) => [{ role: 'user', content }];

const doors: Record<string, Door> = {
  'chat completions': {
    path: '/v1/chat/completions',
    body: (input) => ({ model: 'scripted', messages: messagesOf(input) }),
    // These are the answers of a 200 of each door.
    textOf: (body) =>
      (JSON.parse(body) as { choices: [{ message: { content: string } }] }).choices[0].message.content,
    deltaOf: ({ choices }) => choices?.[0]?.delta.content ?? '',
    isEnd: ({ choices }) => choices?.[0]?.finish_reason === 'stop',
    hasDone: true,
    failure: {
      error: { type: 'server_error', code: 'server_error', message: expect.stringContaining('died') },
    },
  },
  messages: {
    path: '/v1/messages',
    body: (input) => ({ model: 'scripted', max_tokens: 100, messages: messagesOf(input) }),
    textOf: (body) => (JSON.parse(body) as { content: [{ text: string }] }).content[0].text,
    deltaOf: ({ delta }) => delta?.text ?? '',
    isEnd: ({ type }) => type === 'message_stop',
    hasDone: false,
    failure: {
      type: 'error',
      error: {
        type: 'api_error',
        message: expect.stringContaining('died'),
        details: { error_code: 'server_error' },
      },
    },
  },
};

const answer = 'Well and more.';

// With one worker at a time, it is known which one has a response.
const site = deliverySite({
  workers: 1,
  settings: { recovery: { lockMs: 3_000, stalledMs: 500, retryGraceMs: 20_000 } },
});

interface Asked {
  at?: number;
  isStream?: boolean;
  key?: string;
}

function ask({ path, body }: Door, input: string, { at = 0, isStream = false, key }: Asked = {}) {
  return open(site.api(at), {
    method: 'POST',
    path,
    key: siteKeys.tester,
    body: { ...body(input), ...(isStream && { stream: true }) },
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  });
}

async function bodyOf({ status, incoming }: OpenAnswer): Promise<string> {
  const body = await text(incoming);
  if (status !== 200) throw new Error(`status ${status}: ${body}`);
  return body;
}

async function framesOf(opened: OpenAnswer, onFrame?: (frame: Frame) => void) {
  const read = await readFrames(opened, { onFrame: ({ data }) => onFrame?.(JSON.parse(data) as Frame) });
  return { frames: read.frames.map(({ data }) => JSON.parse(data) as Frame), hasDone: read.isWhole };
}

/** The text of a stream, which must be whole. */
async function streamedText(door: Door, opened: OpenAnswer): Promise<string> {
  const { frames, hasDone } = await framesOf(opened);
  expect(frames.some(door.isEnd)).toBe(true);
  expect(hasDone).toBe(door.hasDone);
  return frames.map(door.deltaOf).join('');
}

/** Reads a stream, and resolves once it has said something, with what it comes to. */
async function startReading(door: Door, opened: OpenAnswer) {
  const { promise: hasBegun, resolve } = Promise.withResolvers<void>();
  const read = framesOf(opened, (frame) => {
    if (door.deltaOf(frame) !== '') resolve();
  });
  read.catch(() => undefined);
  await within(Promise.race([hasBegun, read]));
  return { read };
}

function callsOf(input: string): number {
  return site.upstream.fake.requests.filter(({ body }) => JSON.stringify(body).includes(input)).length;
}

/** Kills the worker that runs things, and starts another one. */
async function loseWorker(running: number): Promise<void> {
  const worker = site.service.workers.at(-1) ?? expect.unreachable();
  await eventually(async () => (await runningAttempts(worker.healthUrl)) === running);
  await worker.kill();
  await site.service.addWorker();
}

describe.each(Object.entries(doors))('behind the door of %s', (_name, door) => {
  it('a lost worker costs a whole answer and a stream without output nothing but time', async () => {
    const calls = [site.upstream.expect('nothing', [' and more']), site.upstream.expect('nothing')];
    const [whole = expect.unreachable(), streamed = expect.unreachable()] = calls;
    const key = randomUUID();
    const asked = ask(door, whole.input, { key });
    const opened = ask(door, streamed.input, { isStream: true });
    await Promise.all(calls.map(({ arrived }) => arrived.wait()));
    await loseWorker(2);
    for (const { finish } of calls) finish();

    const first = await bodyOf(await asked);
    expect(door.textOf(first)).toBe(' and more.');
    expect(await streamedText(door, await opened)).toBe('.');
    expect([callsOf(whole.input), callsOf(streamed.input)]).toEqual([2, 2]);
    expect(await bodyOf(await ask(door, whole.input, { key, at: 1 }))).toBe(first);
  });

  it('a stream whose worker is lost in the middle ends in an error, and its key is free', async () => {
    const call = site.upstream.expect('one word', [' and more']);
    const key = randomUUID();
    const { read } = await startReading(door, await ask(door, call.input, { isStream: true, key }));
    await loseWorker(1);
    const { frames, hasDone } = await read;
    expect(frames.map(door.deltaOf).join('')).toBe('Well');
    expect(frames.at(-1)).toMatchObject(door.failure);
    expect(frames.some(door.isEnd)).toBe(false);
    expect(hasDone).toBe(false);

    call.finish();
    const again = await ask(door, call.input, { isStream: true, key, at: 1 });
    expect(await streamedText(door, again)).toBe(answer);
    expect(callsOf(call.input)).toBe(2);
  });

  it('callers of a lost api come back with their keys to what is under way', async () => {
    const { service } = site;
    const dying = await service.addApi();
    const at = service.apis.indexOf(dying);
    const whole = { call: site.upstream.expect('one word', [' and more']), key: randomUUID() };
    const streamed = { call: site.upstream.expect('one word', [' and more']), key: randomUUID() };
    const lost = ask(door, whole.call.input, { at, key: whole.key }).then(bodyOf);
    // It breaks before it is awaited, as the stream does.
    lost.catch(() => undefined);
    const { read } = await startReading(
      door,
      await ask(door, streamed.call.input, { at, isStream: true, key: streamed.key }),
    );
    await whole.call.arrived.wait();
    await dying.kill();
    await expect(within(lost)).rejects.toThrow();
    await expect(within(read)).rejects.toThrow();

    const again = ask(door, whole.call.input, { at: 1, key: whole.key });
    const followed = await ask(door, streamed.call.input, { at: 1, isStream: true, key: streamed.key });
    whole.call.finish();
    streamed.call.finish();
    const second = await bodyOf(await again);
    expect(door.textOf(second)).toBe(answer);
    expect(await streamedText(door, followed)).toBe(answer);
    expect([callsOf(whole.call.input), callsOf(streamed.call.input)]).toEqual([1, 1]);
    // A caller who comes once more gets the same answer, in any mode.
    expect(await bodyOf(await ask(door, whole.call.input, { at: 0, key: whole.key }))).toBe(second);
    const options = { at: 0, isStream: true, key: streamed.key };
    expect(await streamedText(door, await ask(door, streamed.call.input, options))).toBe(answer);
  });
});

it('embeddings are made although their worker is lost, and found again by a caller whose api is', async () => {
  const { service, upstream } = site;
  const calls: string[] = [];
  const held = Promise.withResolvers<void>();
  upstream.fake.onOther(async ({ request, json }) => {
    calls.push(request.path);
    await Promise.race([held.promise, request.ended]);
    json(200, { data: [{ index: 0, embedding: [0.5, 1] }], usage: { prompt_tokens: 2 } });
  });
  const dying = await service.addApi();
  const at = service.apis.indexOf(dying);
  const key = randomUUID();
  const embed = (from: number) =>
    open(site.api(from), {
      method: 'POST',
      path: '/v1/embeddings',
      key: siteKeys.tester,
      body: { model: 'scripted', input: 'Hi' },
      headers: { 'idempotency-key': key },
    }).then(bodyOf);
  const lost = embed(at);
  lost.catch(() => undefined);
  await eventually(() => calls.length === 1);
  await dying.kill();
  await expect(within(lost)).rejects.toThrow();
  const again = embed(1);
  await loseWorker(1);
  held.resolve();
  expect(JSON.parse(await again)).toMatchObject({ data: [{ embedding: [0.5, 1] }] });
  expect(await embed(0)).toBe(await again);
  expect(calls).toEqual(['/v1/embeddings', '/v1/embeddings']);
});
