import {
  completed,
  failed,
  failureBody,
  cancelled,
  nothingProduced,
  type ResponseEnd,
} from '@sluice/contract';
import { startLocalRedis, testRedis, type TestRedis } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  abandon,
  append,
  attach,
  cancel,
  checkLeases,
  claim,
  type ClaimOptions,
  erase,
  leave,
  markEnqueued,
  readEvents,
  readRecord,
  release,
  responseOf,
  survey,
} from '../src/index.ts';
import { acceptedRecord, type AcceptedOptions, logOf, retention, testKeys } from './accepted-record.ts';

let redis: TestRedis;

beforeEach(async () => {
  redis = await testRedis();
});
afterEach(() => redis.close());

const whole: ResponseEnd = completed(nothingProduced, 1_700_000_000);
const broken: ResponseEnd = failed(nothingProduced, failureBody('timeout'));

function accepted(options?: AcceptedOptions) {
  return acceptedRecord(redis, options);
}

function take(id: string, token: string, options: Partial<ClaimOptions> = {}) {
  const channel = testKeys(redis).workerProcess('w');
  const usual = { token, workerChannel: channel, totalMs: 60_000, maxAttempts: 2 };
  return claim(redis.client, testKeys(redis), id, { ...usual, ...options });
}

function write(id: string, token: string, sequenceNumber: number, events: string[], end?: ResponseEnd) {
  return append(redis.client, testKeys(redis), id, {
    token,
    sequenceNumber,
    events,
    retention,
    ...(end && { end }),
  });
}

/** A response that an attempt runs, and the first number it may write. */
async function running(token: string, options?: AcceptedOptions): Promise<string> {
  const id = await accepted(options);
  expect((await take(id, token)).kind).toBe('run');
  return id;
}

function delta(number: number): string {
  return `{"type":"response.output_text.delta","sequence_number":${number}}`;
}

function change(id: string, fields: Record<string, string | number>) {
  return redis.client.hset(testKeys(redis).record(id), fields);
}

function field(id: string, name: string) {
  return redis.client.hget(testKeys(redis).record(id), name);
}

function record(id: string) {
  return readRecord(redis.client, testKeys(redis), id);
}

/** The counts of waiting responses; empty or zeros when none waits. */
async function load(): Promise<Record<string, string>> {
  return redis.client.hgetall(testKeys(redis).load);
}

describe('claim', () => {
  it('starts the first attempt: status, event, count and input', async () => {
    const id = await accepted();
    const claimed = await take(id, 'a');
    expect(claimed).toMatchObject({
      kind: 'run',
      record: {
        id,
        status: 'in_progress',
        attempt: 1,
        maxAttempts: 2,
        sequenceNumber: 2,
        requestId: 'req_1',
      },
    });
    if (claimed.kind !== 'run') return;
    expect(claimed.record.input).toEqual([{ type: 'message', role: 'user', content: 'hi' }]);
    expect(claimed.record.remainingMs).toBe(60_000);
    expect(await logOf(redis, id)).toEqual([
      [0, '{"type":"response.created"}'],
      [1, '{"type":"response.queued"}'],
      [2, '{"type":"response.in_progress"}'],
    ]);
    expect(await load()).toEqual({ queued: '0', bytes: '0' });
  });

  it('starts another attempt without a second event, and supersedes the first', async () => {
    const id = await running('a');
    expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 2, sequenceNumber: 2 } });
    expect(await logOf(redis, id)).toHaveLength(3);
    expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'superseded' });
    expect(await write(id, 'a', 3, [], whole)).toEqual({ kind: 'superseded' });
    expect(await write(id, 'b', 3, [delta(3)])).toEqual({ kind: 'ok' });
    expect(await load()).toEqual({ queued: '0', bytes: '0' });
  });

  it('counts one attempt when it is repeated after a lost reply', async () => {
    const id = await accepted();
    for (const _ of [1, 2, 3]) {
      expect(await take(id, 'a')).toMatchObject({ kind: 'run', record: { attempt: 1, sequenceNumber: 2 } });
    }
    expect(await logOf(redis, id)).toHaveLength(3);
    expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 2 } });
    expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 2 } });
    expect(await take(id, 'c')).toMatchObject({ kind: 'end', because: 'exhausted' });
    expect(await take(id, 'c')).toMatchObject({ kind: 'end', because: 'exhausted' });
    expect(await load()).toEqual({ queued: '0', bytes: '0' });
  });

  it('leaves a stored response without a log', async () => {
    const id = await running('a', { streams: false });
    expect(await record(id)).toMatchObject({ status: 'in_progress', sequenceNumber: 2, streams: false });
    expect(await logOf(redis, id)).toEqual([]);
  });

  it('reads an input that lies under its own key', async () => {
    const id = await accepted();
    await redis.client.hdel(testKeys(redis).record(id), 'input');
    await redis.client.set(testKeys(redis).input(id), '[{"type":"item_reference","id":"x"}]', 'PX', 60_000);
    expect(await take(id, 'a')).toMatchObject({ record: { input: [{ type: 'item_reference', id: 'x' }] } });
  });

  it('finds nothing to run for a record that is gone or has ended', async () => {
    expect(await take('create-response_gone', 'a')).toEqual({ kind: 'nothing', because: 'missing' });
    const id = await accepted();
    await write(id, '', 2, [], broken);
    expect(await take(id, 'a')).toEqual({ kind: 'nothing', because: 'terminal' });
    expect(await record(id)).toMatchObject({ status: 'failed', sequenceNumber: 2 });
  });

  it('leaves a record of another release alone', async () => {
    const id = await accepted({ fields: { version: '2' } });
    const before = await redis.client.hgetall(testKeys(redis).record(id));
    expect(await take(id, 'a')).toEqual({ kind: 'unknown_version' });
    expect(await redis.client.hgetall(testKeys(redis).record(id))).toEqual(before);
  });

  it.each([
    ['cancelled', 'its end was asked for', {}, { cancel: 'requested' }],
    ['expired', 'it waited too long', {}, { queue_by: 1 }],
    ['expired', 'its time ran out over earlier attempts', {}, { run_by: 1 }],
    ['exhausted', 'its attempts are used up', {}, { attempt: 2 }],
    ['cancelled', 'its caller left', { background: false }, {}],
  ])('is for the end alone when %s: %s', async (because, _why, options, fields) => {
    const id = await accepted({ ...options, fields });
    expect(await take(id, 'a')).toMatchObject({ kind: 'end', because, record: { status: 'queued' } });
    expect(await load()).toMatchObject({ queued: '1' });
    expect(await write(id, 'a', 2, [], broken)).toEqual({ kind: 'ok' });
    expect(await load()).toEqual({ queued: '0', bytes: '0' });
  });

  it('is for the end alone after output was seen, and only then', async () => {
    const seen = await running('a');
    await write(seen, 'a', 3, [delta(3)]);
    expect(await take(seen, 'b')).toMatchObject({
      kind: 'end',
      because: 'broken_off',
      record: { sequenceNumber: 3 },
    });
    const unseen = await running('a', { streams: false });
    expect(await take(unseen, 'b')).toMatchObject({ kind: 'run' });
  });
});

describe('append', () => {
  it('writes events under their numbers', async () => {
    const id = await running('a');
    expect(await write(id, 'a', 3, [delta(3), delta(4)])).toEqual({ kind: 'ok' });
    expect(await write(id, 'a', 5, [delta(5)])).toEqual({ kind: 'ok' });
    expect((await logOf(redis, id)).slice(3)).toEqual([3, 4, 5].map((number) => [number, delta(number)]));
    expect(await record(id)).toMatchObject({ sequenceNumber: 5, status: 'in_progress' });
  });

  it('changes nothing when it is repeated', async () => {
    const id = await running('a');
    await write(id, 'a', 3, [delta(3), delta(4)]);
    const before = await logOf(redis, id);
    expect(await write(id, 'a', 3, [delta(3), delta(4)])).toEqual({ kind: 'ok' });
    expect(await logOf(redis, id)).toEqual(before);

    await write(id, 'a', 5, [delta(5)], whole);
    const ended = await logOf(redis, id);
    const result = await record(id);
    expect(await write(id, 'a', 5, [delta(5)], whole)).toEqual({ kind: 'ok' });
    expect(await logOf(redis, id)).toEqual(ended);
    expect(await record(id)).toEqual(result);
  });

  it('ends a response in one step with its last event', async () => {
    const id = await running('a');
    expect(await write(id, 'a', 3, [delta(3)], whole)).toEqual({ kind: 'ok' });
    expect((await logOf(redis, id)).at(-1)).toEqual([4, '{"type":"response.completed"}']);
    const stored = await record(id);
    expect(stored).toMatchObject({ status: 'completed', end: whole, sequenceNumber: 4 });
    expect(stored && responseOf(stored)).toMatchObject({ status: 'completed', completed_at: 1_700_000_000 });
    expect(await redis.client.zscore(testKeys(redis).open, id)).toBeNull();
  });

  it('lets the first end win', async () => {
    const id = await running('a');
    await write(id, 'a', 3, [], whole);
    const before = await record(id);
    expect(await write(id, 'a', 3, [], cancelled(nothingProduced))).toEqual({ kind: 'terminal' });
    expect(await write(id, 'a', 4, [delta(4)])).toEqual({ kind: 'terminal' });
    expect(await write(id, '', 4, [], broken)).toEqual({ kind: 'terminal' });
    expect(await record(id)).toEqual(before);
    expect(await logOf(redis, id)).toHaveLength(4);
  });

  it('refuses a gap, a record that is gone, and an end that may not follow', async () => {
    const id = await running('a');
    expect(await write(id, 'a', 5, [delta(5)])).toEqual({ kind: 'gap' });
    expect(await write('create-response_gone', 'a', 3, [delta(3)])).toEqual({ kind: 'missing' });
    const queued = await accepted();
    expect((await write(queued, '', 2, [], whole)).kind).not.toBe('ok');
    expect(await record(queued)).toMatchObject({ status: 'queued', sequenceNumber: 1 });
    expect(await redis.client.exists(testKeys(redis).record('create-response_gone'))).toBe(0);
  });

  it('without a lease ends only what nobody runs', async () => {
    const queued = await accepted();
    expect(await write(queued, '', 2, [], broken)).toEqual({ kind: 'ok' });
    expect(await load()).toEqual({ queued: '0', bytes: '0' });
    const id = await running('a');
    expect(await write(id, '', 3, [], broken)).toEqual({ kind: 'superseded' });
  });

  it('without a lease ends what a dead worker had claimed only to end it', async () => {
    const id = await accepted({ fields: { cancel: 'requested' } });
    await take(id, 'dead');
    expect(await write(id, '', 2, [], cancelled(nothingProduced))).toEqual({ kind: 'ok' });
    expect(await record(id)).toMatchObject({ status: 'cancelled' });
    expect(await write(id, 'dead', 2, [], broken)).toEqual({ kind: 'terminal' });
  });

  it('tells its writer that the end was asked for', async () => {
    const id = await running('a');
    await cancel(redis.client, testKeys(redis), id, 'requested');
    expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'cancelled' });
    expect(await write(id, 'a', 4, [], cancelled(nothingProduced))).toEqual({ kind: 'ok' });
  });

  it('publishes the bytes of the log to every api process that watches', async () => {
    const keys = testKeys(redis);
    const watchers = [keys.apiProcess('1'), keys.apiProcess('2')];
    for (const watcher of watchers) await redis.client.set(watcher, '1', 'PX', 60_000);
    const subscriber = redis.connect();
    const messages: [string, string][] = [];
    const isComplete = Promise.withResolvers<void>();
    subscriber.on('message', (channel: string, message: string) => {
      messages.push([channel, message]);
      if (messages.length === 6) isComplete.resolve();
    });
    await subscriber.subscribe(...watchers);
    const id = await running('a', { background: false, watchers });
    await write(id, 'a', 3, [delta(3), delta(4)]);
    await write(id, 'a', 5, [], whole);
    await isComplete.promise;
    const expected = [
      `${id} 2 1 -\n{"type":"response.in_progress"}`,
      `${id} 3 2 -\n${delta(3)}\n${delta(4)}`,
      `${id} 5 1 completed\n{"type":"response.completed"}\n${JSON.stringify(whole)}`,
    ];
    expect(messages).toEqual(expected.flatMap((message) => watchers.map((watcher) => [watcher, message])));
  });

  it('starts the retention of record, log and input with the end', async () => {
    const keys = testKeys(redis);
    const id = await running('a');
    await redis.client.set(keys.input(id), '[]', 'PX', 600_000);
    await write(id, 'a', 3, [], whole);
    const left = await Promise.all(
      [keys.record(id), keys.log(id), keys.input(id)].map((key) => redis.client.pttl(key)),
    );
    expect(left[0]).toBeLessThanOrEqual(retention.recordMs);
    expect(left[1]).toBeLessThanOrEqual(retention.logMs);
    expect(left[2]).toBeLessThanOrEqual(retention.recordMs);
    expect(Math.min(...left)).toBeGreaterThan(0);
  });

  it('holds against two attempts that write at the same time', async () => {
    const id = await running('old');
    await take(id, 'new');
    const zombie = redis.connect();
    const keys = testKeys(redis);
    const foreign = Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        append(zombie, keys, id, {
          token: 'old',
          sequenceNumber: 3 + at,
          events: ['{"type":"error"}'],
          retention,
        }),
      ),
    );
    for (let number = 3; number < 203; number += 1) await write(id, 'new', number, [delta(number)]);
    expect(new Set((await foreign).map(({ kind }) => kind))).toEqual(new Set(['superseded']));
    const expected = Array.from({ length: 200 }, (_, at) => [at + 3, delta(at + 3)]);
    expect((await logOf(redis, id)).slice(3)).toEqual(expected);
  });
});

describe('release', () => {
  it('gives a response back without counting the attempt', async () => {
    const id = await running('a');
    expect(await release(redis.client, testKeys(redis), id, 'b')).toBe(false);
    expect(await release(redis.client, testKeys(redis), id, 'a')).toBe(true);
    expect(await release(redis.client, testKeys(redis), id, 'a')).toBe(false);
    expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'superseded' });
    expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 1 } });
    expect(await release(redis.client, testKeys(redis), 'create-response_gone', 'a')).toBe(false);
  });
});

describe('leases', () => {
  function states(...held: [string, string][]) {
    const named = held.map(([responseId, token]) => ({ responseId, token }));
    return checkLeases(redis.client, testKeys(redis), named);
  }

  it('are told apart: held, superseded, asked to end', async () => {
    const held = await running('a');
    const superseded = await running('a');
    await take(superseded, 'b');
    const ended = await running('a');
    await write(ended, 'a', 3, [], whole);
    const asked = await running('a');
    await cancel(redis.client, testKeys(redis), asked, 'requested');
    const ids = [held, superseded, ended, asked, 'create-response_gone'];
    expect(await states(...ids.map((id): [string, string] => [id, 'a']))).toEqual([
      'ok',
      'superseded',
      'superseded',
      'cancelled',
      'superseded',
    ]);
  });

  it('end when the caller has left', async () => {
    const id = await running('a');
    await change(id, { background: 0 });
    expect(await states([id, 'a'])).toEqual(['cancelled']);
  });

  it('outlast a caller that may come back, for its grace', async () => {
    const id = await running('a');
    await change(id, { background: 0, grace_ms: 30_000 });
    expect(await states([id, 'a'])).toEqual(['ok']);
    const leftAt = Number(await field(id, 'left_at'));
    await change(id, { left_at: leftAt - 30_000 });
    expect(await states([id, 'a'])).toEqual(['cancelled']);
  });

  it('outlast a store that was away until its watchers are back', async () => {
    const watcher = testKeys(redis).apiProcess('1');
    await redis.client.set(watcher, '1', 'PX', 60_000);
    const id = await running('a', { background: false, watchers: [watcher] });
    // Leases lapse by the clock, also while nothing could renew them.
    await redis.client.del(watcher);
    expect(await states([id, 'a'])).toEqual(['ok']);
    await redis.client.set(watcher, '1', 'PX', 60_000);
    expect(await states([id, 'a'])).toEqual(['ok']);
    expect(await field(id, 'left_at')).toBeNull();
  });

  it('end when the watching process stays dead', async () => {
    const id = await accepted({ background: false, watchers: [testKeys(redis).apiProcess('dead')] });
    expect((await take(id, 'a')).kind).toBe('run');
    await change(id, { left_at: Number(await field(id, 'left_at')) - 3_000 });
    expect(await states([id, 'a'])).toEqual(['cancelled']);
  });
});

describe('leaving', () => {
  const process1 = () => testKeys(redis).apiProcess('1');

  function leaves(id: string, graceMs?: number) {
    const options = { apiProcess: process1(), ...(graceMs !== undefined && { graceMs }) };
    return leave(redis.client, testKeys(redis), id, options);
  }

  it('asks for the end when nobody else waits', async () => {
    const id = await accepted({ background: false, watchers: [process1()] });
    expect(await leaves(id)).toEqual({ kind: 'asked', isQueued: true });
    expect(await leaves(id)).toEqual({ kind: 'asked', isQueued: true });
    expect(await field(id, 'cancel')).toBe('caller_left');
  });

  it('rings the worker that runs it', async () => {
    const subscriber = redis.connect();
    const rung = new Promise<string>((resolve) => {
      subscriber.on('message', (_channel: string, message: string) => resolve(message));
    });
    await subscriber.subscribe(testKeys(redis).workerProcess('w'));
    await redis.client.set(process1(), '1', 'PX', 60_000);
    const id = await running('a', { background: false, watchers: [process1()] });
    expect(await leaves(id)).toEqual({ kind: 'asked', isQueued: false });
    expect(await rung).toBe(id);
  });

  it('asks for nothing while others wait, in the background, or within the grace', async () => {
    const other = testKeys(redis).apiProcess('2');
    await redis.client.set(other, '1', 'PX', 60_000);
    const watched = await accepted({ background: false, watchers: [process1(), other] });
    expect(await leaves(watched)).toEqual({ kind: 'detached' });
    expect(await field(watched, 'watchers')).toBe(other);
    expect(await leaves(await accepted({ watchers: [process1()] }))).toEqual({ kind: 'detached' });
    expect(await leaves(await accepted({ background: false, watchers: [process1()] }), 30_000)).toEqual({
      kind: 'detached',
    });
  });

  it('changes nothing of what has ended or is gone', async () => {
    const id = await accepted({ background: false });
    await write(id, '', 2, [], broken);
    expect(await leaves(id)).toEqual({ kind: 'terminal' });
    expect(await leaves('create-response_gone')).toEqual({ kind: 'missing' });
    expect(await redis.client.exists(testKeys(redis).record('create-response_gone'))).toBe(0);
  });

  it('is undone by attaching again', async () => {
    const id = await accepted({ background: false, watchers: [process1()] });
    await leaves(id, 30_000);
    expect(await field(id, 'left_at')).not.toBeNull();
    expect(await attach(redis.client, testKeys(redis), id, process1())).toBe(true);
    expect(await attach(redis.client, testKeys(redis), id, process1())).toBe(true);
    expect(await field(id, 'left_at')).toBeNull();
    expect(await field(id, 'watchers')).toBe(process1());
    expect(await attach(redis.client, testKeys(redis), 'create-response_gone', process1())).toBe(false);
  });
});

describe('cancelling', () => {
  it('asks for the end of whatever has not ended, once', async () => {
    const keys = testKeys(redis);
    const queued = await accepted();
    expect(await cancel(redis.client, keys, queued, 'requested')).toEqual({ kind: 'asked', isQueued: true });
    expect(await cancel(redis.client, keys, queued, 'deleted')).toEqual({ kind: 'asked', isQueued: true });
    expect(await field(queued, 'cancel')).toBe('requested');
    const id = await running('a');
    expect(await cancel(redis.client, keys, id, 'requested')).toEqual({ kind: 'asked', isQueued: false });
    await write(id, 'a', 3, [], whole);
    expect(await cancel(redis.client, keys, id, 'requested')).toEqual({ kind: 'terminal' });
    expect(await cancel(redis.client, keys, 'create-response_gone', 'requested')).toEqual({
      kind: 'missing',
    });
  });
});

describe('erasing', () => {
  it('leaves nothing, and refuses the worker that still runs it', async () => {
    const keys = testKeys(redis);
    const queued = await accepted();
    const id = await running('a');
    await redis.client.set(keys.input(id), '[]', 'PX', 60_000);
    expect(await erase(redis.client, keys, id, 'team-a')).toBe(true);
    expect(await erase(redis.client, keys, queued, 'team-a')).toBe(true);
    expect(await erase(redis.client, keys, queued, 'team-a')).toBe(true);
    expect(
      await redis.client.exists(
        keys.record(id),
        keys.log(id),
        keys.input(id),
        keys.record(queued),
        keys.open,
      ),
    ).toBe(0);
    expect(await load()).toEqual({ queued: '0', bytes: '0' });
    expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'missing' });
  });

  it('waits for the last reader when it is asked to', async () => {
    const keys = testKeys(redis);
    const [first, second] = [keys.apiProcess('1'), keys.apiProcess('2')];
    const id = await accepted({ watchers: [first, second] });
    expect(await erase(redis.client, keys, id, 'team-a', first)).toBe(false);
    expect(await erase(redis.client, keys, id, 'team-a', second)).toBe(true);
    expect(await record(id)).toBeUndefined();
  });
});

describe('abandon', () => {
  it('asks for the end of what was accepted without an answer', async () => {
    const id = await accepted();
    expect(await abandon(redis.client, testKeys(redis), id)).toEqual({ kind: 'asked', isQueued: true });
    expect((await take(id, 'a')).kind).toBe('end');
  });

  it('ends an attempt that has begun by the time it is heard', async () => {
    const id = await running('a');
    expect(await abandon(redis.client, testKeys(redis), id)).toEqual({ kind: 'asked', isQueued: false });
    const held = [{ responseId: id, token: 'a' }];
    expect(await checkLeases(redis.client, testKeys(redis), held)).toEqual(['cancelled']);
  });

  it('leaves a response alone that somebody else was told of', async () => {
    const id = await accepted();
    await attach(redis.client, testKeys(redis), id, testKeys(redis).apiProcess('other'));
    expect(await abandon(redis.client, testKeys(redis), id)).toEqual({ kind: 'detached' });
    expect(await field(id, 'cancel')).toBeNull();
  });

  it('takes an input away whose accept never came', async () => {
    const keys = testKeys(redis);
    await redis.client.set(keys.input('create-response_gone'), 'a prompt');
    expect(await abandon(redis.client, keys, 'create-response_gone')).toEqual({ kind: 'missing' });
    expect(await redis.client.exists(keys.input('create-response_gone'))).toBe(0);
  });
});

describe('survey', () => {
  it('forgets the counts of responses that expired while they waited', async () => {
    const keys = testKeys(redis);
    const id = await accepted();
    expect((await load())['queued']).toBe('1');
    await redis.client.del(keys.record(id));
    await survey(redis.client, keys, { offset: 0, count: 10 });
    expect(await load()).toEqual({});
  });

  it('finds what should have ended while it ran', async () => {
    const keys = testKeys(redis);
    const late = await running('a');
    await change(late, { run_by: 1 });
    const unwanted = await running('b');
    await cancel(redis.client, keys, unwanted, 'requested');
    const found = await survey(redis.client, keys, { offset: 0, count: 10 });
    expect(found.map(({ kind }) => kind)).toEqual(['overdue', 'overdue']);
  });

  const page = { offset: 0, count: 100 };

  it('tells what stands in each open record, oldest first', async () => {
    const keys = testKeys(redis);
    const known: [string, string][] = [];
    const add = async (kind: string, options: AcceptedOptions, act?: (id: string) => Promise<unknown>) => {
      const id = await accepted(options);
      await redis.client.zadd(keys.open, 1_000 + known.length, id);
      await act?.(id);
      known.push([id, kind]);
    };
    await add('unqueued', {});
    await add('queued', {}, (id) => markEnqueued(redis.client, keys, id));
    await add('cancelled', { fields: { cancel: 'requested' } });
    await add('cancelled', { background: false });
    await add('expired', { fields: { queue_by: 1 } });
    await add('in_progress', {}, (id) => take(id, 'a'));
    await add('gone', {}, (id) => redis.client.del(keys.record(id)));
    const found = await survey(redis.client, keys, page);
    expect(found.map(({ responseId, kind }) => [responseId, kind])).toEqual(known);
    expect(found[5]).toMatchObject({ queue: 'simulator' });
    expect(found[0]?.ageMs).toBeGreaterThan(0);
    // What is gone is looked at once.
    expect((await survey(redis.client, keys, page)).map(({ kind }) => kind)).not.toContain('gone');
  });

  it('goes in pages', async () => {
    const ids = [];
    for (let at = 0; at < 5; at += 1) ids.push(await accepted());
    const keys = testKeys(redis);
    for (const [at, id] of ids.entries()) await redis.client.zadd(keys.open, at, id);
    const rest = await survey(redis.client, keys, { offset: 3, count: 10 });
    expect(rest.map(({ responseId }) => responseId)).toEqual(ids.slice(3));
    expect(await survey(redis.client, keys, { offset: 5, count: 10 })).toEqual([]);
  });
});

describe('marking as enqueued', () => {
  it('does not bring back a record that is gone', async () => {
    const id = await accepted();
    await markEnqueued(redis.client, testKeys(redis), id);
    expect(await record(id)).toMatchObject({ isEnqueued: true });
    await markEnqueued(redis.client, testKeys(redis), 'create-response_gone');
    expect(await redis.client.exists(testKeys(redis).record('create-response_gone'))).toBe(0);
  });
});

describe('reading', () => {
  it('gives exactly the rest after any cursor', async () => {
    const id = await running('a');
    await write(
      id,
      'a',
      3,
      Array.from({ length: 20 }, (_, at) => delta(at + 3)),
    );
    const all = await readEvents(redis.client, testKeys(redis), id, -1, 1_000);
    expect(all).toHaveLength(23);
    for (let cursor = -1; cursor < 24; cursor += 1) {
      expect(await readEvents(redis.client, testKeys(redis), id, cursor, 1_000)).toEqual(
        all.slice(cursor + 1),
      );
      expect(await readEvents(redis.client, testKeys(redis), id, cursor, 3)).toEqual(
        all.slice(cursor + 1, cursor + 4),
      );
    }
  });
});

describe('a server that lost its scripts', () => {
  it('is sent them again without anybody noticing', async () => {
    const own = await startLocalRedis();
    const user = await testRedis(own.url);
    try {
      redis = user;
      const id = await accepted();
      await user.client.script('FLUSH');
      expect((await take(id, 'a')).kind).toBe('run');
      await user.client.script('FLUSH');
      expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'ok' });
      await user.client.script('FLUSH');
      expect(await checkLeases(user.client, testKeys(user), [{ responseId: id, token: 'a' }])).toEqual([
        'ok',
      ]);
    } finally {
      await user.close();
      await own.stop();
    }
  });
});
