import {
  cancelled,
  completed,
  failed,
  failureBody,
  nothingProduced,
  type ResponseEnd,
} from '@sluice/contract';
import { eventually, startLocalRedis } from '@sluice/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { responseOf, UnknownVersion } from '../src/index.ts';
import {
  type AcceptedOptions,
  oneServer,
  retention,
  servers,
  stopCluster,
  storeForEachTest,
  StoreUnderTest,
  unknownId,
} from './store-under-test.ts';

const gone = unknownId();

afterAll(stopCluster);

const whole: ResponseEnd = completed(nothingProduced, 1_700_000_000);
const broken: ResponseEnd = failed(nothingProduced, failureBody('timeout'));

const delta = (number: number) => `{"type":"response.output_text.delta","sequence_number":${number}}`;

describe.each(servers)('on %s', (_name, connect) => {
  const store = storeForEachTest(connect);
  const accepted = (options?: AcceptedOptions) => store.accepted(options);
  const running = (token: string, options?: AcceptedOptions) => store.running(token, options);
  const take = (id: string, token: string) => store.take(id, token);
  const write = (id: string, token: string, first: number, events: string[], end?: ResponseEnd) =>
    store.write(id, token, first, events, end);
  const change = (id: string, fields: Record<string, string | number>) => store.change(id, fields);
  const field = (id: string, name: string) => store.field(id, name);
  const record = (id: string) => store.caller.read(id);
  const logOf = (id: string) => store.logOf(id);
  const waiting = () => store.waiting();
  const exists = (...keys: string[]) => store.server.client.exists(...keys);

  describe('a claim of what another worker runs', () => {
    const another = () => ({ worker: store.keys.workerProcess('x') });
    /** The worker that every other claim of these tests comes from. */
    const live = () => store.server.client.set(store.keys.workerProcess('w'), '1');

    it('is held off while that worker lives, and changes nothing', async () => {
      await live();
      const id = await running('a');
      expect(await store.take(id, 'b', another())).toEqual({ kind: 'held' });
      expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'ok' });
      expect(await field(id, 'attempt')).toBe('1');
      await store.caller.cancel(id, 'requested');
      expect(await store.take(id, 'b', another())).toEqual({ kind: 'held' });
    });

    it('is held off when the store was away so lately that the worker may not have been back', async () => {
      const id = await running('a');
      expect(await store.take(id, 'b', { ...another(), leaseHeldMs: 4_999 })).toEqual({ kind: 'held' });
      expect(await store.take(id, 'b', { ...another(), leaseHeldMs: 5_000 })).toMatchObject({ kind: 'run' });
    });

    it('counts a run that died with its worker apart from the attempts', async () => {
      const id = await running('a', { streams: false });
      expect(await store.take(id, 'b', another())).toMatchObject({
        kind: 'run',
        record: { attempt: 1, losses: 1 },
      });
      // Another try by the same worker is an attempt, and no loss.
      expect(await store.take(id, 'c', another())).toMatchObject({
        kind: 'run',
        record: { attempt: 2, losses: 1 },
      });
    });

    it('counts hand-overs from the fourth on, so that they have an end', async () => {
      const id = await running('a', { streams: false });
      let token = 'a';
      const attempts: unknown[] = [];
      for (let nth = 0; nth < 5; nth += 1) {
        const options = { isCounted: false, isHandOver: true };
        expect(await store.attempts.release({ id, token }, options)).toBe(true);
        attempts.push(await field(id, 'attempt'));
        token = `after ${nth}`;
        await store.take(id, token, another());
      }
      expect(attempts).toEqual(['0', '0', '0', '1', '2']);
      expect(await store.take(id, 'last', another())).toMatchObject({ kind: 'end', because: 'exhausted' });
    });

    it('says when that was, which is the start of a response for the first one alone', async () => {
      const id = await accepted();
      const first = await take(id, 'a');
      const startedAt = Number(await field(id, 'started_at'));
      expect(first).toMatchObject({ kind: 'run', record: { claimedAt: startedAt, startedAt } });
      await change(id, { started_at: 5 });
      const second = await store.take(id, 'b', another());
      expect(second).toMatchObject({ kind: 'run', record: { startedAt: 5 } });
      expect(second.kind === 'run' && second.record.claimedAt).toBeGreaterThanOrEqual(startedAt);
    });

    it('counts none for a response that was given back', async () => {
      const id = await running('a');
      await store.attempts.release({ id, token: 'a' }, { isCounted: false });
      expect(await store.take(id, 'b', another())).toMatchObject({
        kind: 'run',
        record: { attempt: 1, losses: 0 },
      });
    });

    it('begins the time to run of a response with the first claim that has room for it', async () => {
      const id = await accepted();
      const inAll = await field(id, 'queue_by');
      const withoutRoom = { roomForInput: () => false };
      for (const token of ['a', 'b']) {
        expect(await store.take(id, token, withoutRoom)).toMatchObject({ kind: 'no_room' });
        // The reply to the first one was lost.
        expect(await store.take(id, token, withoutRoom)).toMatchObject({ kind: 'no_room' });
        await store.attempts.release({ id, token }, { isCounted: false, isUnbegun: true });
        expect([await field(id, 'run_by'), await field(id, 'queue_by')]).toEqual([null, inAll]);
      }
      const claimed = await take(id, 'c');
      expect(claimed).toMatchObject({ kind: 'run', record: { attempt: 1 } });
      // It has begun, and goes on while it waits again.
      const runBy = await field(id, 'run_by');
      await store.attempts.release({ id, token: 'c' }, { isCounted: false });
      expect(await store.take(id, 'd', withoutRoom)).toMatchObject({ kind: 'no_room' });
      await store.attempts.release({ id, token: 'd' }, { isCounted: false, isUnbegun: true });
      expect(await field(id, 'run_by')).toBe(runBy);
    });

    it('is for the end alone when a reader has seen what the store has lost', async () => {
      const id = await accepted();
      await take(id, 'a');
      await write(id, 'a', 3, [delta(3)]);
      // As after a failover to a replica that had the claim and nothing of the log.
      await change(id, { seq: 2 });
      await store.attempts.release({ id, token: 'a' }, { isCounted: true, isShown: true });
      expect(await take(id, 'b')).toMatchObject({ kind: 'end', because: 'broken_off' });
    });

    it('stays exhausted when its end was given back unwritten', async () => {
      const id = await accepted();
      for (const token of ['a', 'b']) {
        expect(await take(id, token)).toMatchObject({ kind: 'run' });
        await store.attempts.release({ id, token }, { isCounted: true });
      }
      for (const token of ['c', 'd']) {
        expect(await take(id, token)).toMatchObject({ kind: 'end', because: 'exhausted' });
        await store.attempts.release({ id, token }, { isCounted: false });
      }
    });

    it('is for the end alone when it waited for room for longer than it may', async () => {
      const id = await accepted();
      await store.take(id, 'a', { roomForInput: () => false });
      await store.attempts.release({ id, token: 'a' }, { isCounted: false, isUnbegun: true });
      await change(id, { queue_by: 1 });
      expect((await store.attempts.survey('0', { offset: 0, count: 10 })).map(({ kind }) => kind)).toEqual([
        'overdue',
      ]);
      expect(await take(id, 'b')).toMatchObject({ kind: 'end', because: 'expired' });
    });

    it('tells each further worker how often an upstream limited a response that was given back', async () => {
      const id = await running('a');
      const limited = { count: 2, at: 1_700_000_000_123 };
      await store.attempts.release({ id, token: 'a' }, { isCounted: false, limited });
      expect(await store.take(id, 'b', another())).toMatchObject({ kind: 'run', record: { limited } });
      await store.attempts.release({ id, token: 'b' }, { isCounted: false });
      expect(await store.take(id, 'c', another())).toMatchObject({ kind: 'run', record: { limited } });
    });

    it('ends a response whose third run died as well', async () => {
      const id = await running('a', { streams: false });
      const by = (processId: string) => ({ worker: store.keys.workerProcess(processId) });
      await store.take(id, 'b', another());
      expect(await store.take(id, 'c', by('y'))).toMatchObject({
        kind: 'run',
        record: { attempt: 1, losses: 2 },
      });
      expect(await store.take(id, 'd', by('z'))).toMatchObject({ kind: 'end', because: 'lost' });
      // It died before it had written the end.
      expect(await store.take(id, 'e', by('v'))).toMatchObject({ kind: 'end', because: 'lost' });
    });

    it('ends a response that died alone', async () => {
      const id = await running('a', { streams: false });
      const third = { worker: store.keys.workerProcess('y') };
      await store.take(id, 'b', another());
      expect(await store.attempts.blame(id)).toBe(true);
      expect(await store.attempts.blame(id)).toBe(true);
      expect(await store.take(id, 'c', third)).toMatchObject({ kind: 'end', because: 'lost' });
    });

    it('blames nothing that was not running', async () => {
      const id = await running('a', { streams: false });
      await store.attempts.release({ id, token: 'a' }, { isCounted: false });
      expect(await store.attempts.blame(id)).toBe(false);
      expect(await store.attempts.blame('create-response_unknown')).toBe(false);
      expect(await store.take(id, 'b', another())).toMatchObject({ kind: 'run', record: { losses: 0 } });
    });

    it('counts a loss once, whoever asks how often', async () => {
      const id = await running('a', { streams: false });
      await store.take(id, 'b', another());
      expect(await store.take(id, 'b', another())).toMatchObject({ record: { attempt: 1, losses: 1 } });
      await store.attempts.release({ id, token: 'b' }, { isCounted: false });
      const third = { worker: store.keys.workerProcess('y') };
      expect(await store.take(id, 'c', third)).toMatchObject({
        kind: 'run',
        record: { attempt: 1, losses: 1 },
      });
    });

    it('goes through for the rescue, whoever lives', async () => {
      await live();
      const id = await running('a');
      const taken = await store.worker({ processId: 'x' }).takeOver(id, 'b');
      expect(taken).toMatchObject({ kind: 'run', record: { losses: 0 } });
    });

    it('needs a lease of the claiming worker', async () => {
      const id = await running('a');
      const worker = store.worker({ processId: 'x', leaseMs: 40 });
      expect(await worker.claim(id, 'b')).toEqual({ kind: 'held' });
      await worker.start();
      await eventually(async () => (await worker.claim(id, 'b')).kind === 'run');
      await worker.stop();
      expect(await exists(store.keys.workerProcess('x'))).toBe(0);
    });
  });

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
      expect(await logOf(id)).toEqual([
        [0, '{"type":"response.created"}'],
        [1, '{"type":"response.queued"}'],
        [2, '{"type":"response.in_progress"}'],
      ]);
      expect(await waiting()).toBe(0);
    });

    it('starts another attempt without a second event, and supersedes the first', async () => {
      const id = await running('a');
      expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 2, sequenceNumber: 2 } });
      expect(await logOf(id)).toHaveLength(3);
      expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'superseded' });
      expect(await write(id, 'a', 3, [], whole)).toEqual({ kind: 'superseded' });
      expect(await write(id, 'b', 3, [delta(3)])).toEqual({ kind: 'ok' });
      expect(await waiting()).toBe(0);
    });

    it('counts one attempt when it is repeated after a lost reply', async () => {
      const id = await accepted();
      for (const _ of [1, 2, 3]) {
        expect(await take(id, 'a')).toMatchObject({ kind: 'run', record: { attempt: 1, sequenceNumber: 2 } });
      }
      expect(await logOf(id)).toHaveLength(3);
      expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 2 } });
      expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 2 } });
      expect(await take(id, 'c')).toMatchObject({ kind: 'end', because: 'exhausted' });
      expect(await take(id, 'c')).toMatchObject({ kind: 'end', because: 'exhausted' });
      expect(await waiting()).toBe(0);
    });

    it('finds nothing to run for a record that is gone or has ended', async () => {
      expect(await take(gone, 'a')).toEqual({ kind: 'nothing', because: 'missing' });
      const id = await accepted();
      await write(id, '', 2, [], broken);
      expect(await take(id, 'a')).toEqual({ kind: 'nothing', because: 'terminal' });
      expect(await record(id)).toMatchObject({ status: 'failed', sequenceNumber: 2 });
    });

    it('leaves a record of another release alone', async () => {
      const id = await accepted({ fields: { version: '1000' } });
      const before = await store.server.client.hgetall(store.keys.record(id));
      const { caller, attempts } = store;
      expect(await take(id, 'a')).toEqual({ kind: 'unknown_version' });
      await expect(caller.locateInput('team-a', id)).rejects.toThrow(UnknownVersion);
      expect(await caller.attach(id)).toBe(false);
      expect(await caller.cancel(id, 'requested')).toEqual({ kind: 'unknown_version' });
      expect(await caller.leave(id, { graceMs: 0 })).toEqual({ kind: 'unknown_version' });
      expect(await caller.abandon(id, 1)).toMatchObject({ kind: 'unknown_version' });
      expect(await attempts.survey('0', { offset: 0, count: 100 })).toMatchObject([
        { responseId: id, kind: 'unknown_version' },
      ]);
      expect(await store.server.client.hgetall(store.keys.record(id))).toEqual(before);
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
      expect(await waiting()).toBe(1);
      expect(await write(id, 'a', 2, [], broken)).toEqual({ kind: 'ok' });
      expect(await waiting()).toBe(0);
    });

    it('is for the end alone after output was seen, and only then', async () => {
      const seen = await running('a', {
        limits: { queued: 9 },
        tokens: { input: 7, output: 1, mostInput: undefined },
      });
      await write(seen, 'a', 3, [delta(3)]);
      expect(await take(seen, 'b')).toMatchObject({
        kind: 'end',
        because: 'broken_off',
        record: { sequenceNumber: 3, inputTokens: 7 },
      });
      const unseen = await running('a', { streams: false });
      expect(await take(unseen, 'b')).toMatchObject({ kind: 'run' });
    });
  });

  describe('append', () => {
    it('changes nothing when it is repeated', async () => {
      const id = await running('a');
      await write(id, 'a', 3, [delta(3), delta(4)]);
      const before = await logOf(id);
      expect(await write(id, 'a', 3, [delta(3), delta(4)])).toEqual({ kind: 'ok' });
      expect(await logOf(id)).toEqual(before);

      await write(id, 'a', 5, [delta(5)], whole);
      const ended = await logOf(id);
      const result = await record(id);
      expect(await write(id, 'a', 5, [delta(5)], whole)).toEqual({ kind: 'ok' });
      expect(await logOf(id)).toEqual(ended);
      expect(await record(id)).toEqual(result);
    });

    it('ends a response in one step with its last event', async () => {
      const id = await running('a');
      expect(await write(id, 'a', 3, [delta(3)], whole)).toEqual({ kind: 'ok' });
      expect((await logOf(id)).at(-1)).toEqual([4, '{"type":"response.completed"}']);
      const stored = await record(id);
      expect(stored).toMatchObject({ status: 'completed', end: whole, sequenceNumber: 4 });
      expect(stored && responseOf(stored)).toMatchObject({
        status: 'completed',
        completed_at: 1_700_000_000,
      });
      expect(await store.server.client.zscore(store.keys.open, id)).toBeNull();
    });

    it('lets the first end win', async () => {
      const id = await running('a');
      await write(id, 'a', 3, [], whole);
      const before = await record(id);
      expect(await write(id, 'a', 3, [], cancelled(nothingProduced))).toEqual({ kind: 'terminal' });
      expect(await write(id, 'a', 4, [delta(4)])).toEqual({ kind: 'terminal' });
      expect(await write(id, '', 4, [], broken)).toEqual({ kind: 'terminal' });
      expect(await record(id)).toEqual(before);
      expect(await logOf(id)).toHaveLength(4);
    });

    it('refuses a gap, a record that is gone, and an end that may not follow', async () => {
      const id = await running('a');
      expect(await write(id, 'a', 5, [delta(5)])).toEqual({ kind: 'gap' });
      expect(await write(gone, 'a', 3, [delta(3)])).toEqual({ kind: 'missing' });
      const queued = await accepted();
      expect((await write(queued, '', 2, [], whole)).kind).not.toBe('ok');
      expect(await record(queued)).toMatchObject({ status: 'queued', sequenceNumber: 1 });
      expect(await exists(store.keys.record(gone))).toBe(0);
    });

    it('without a lease ends only what nobody runs', async () => {
      const queued = await accepted();
      expect(await write(queued, '', 2, [], broken)).toEqual({ kind: 'ok' });
      expect(await waiting()).toBe(0);
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
      await store.caller.cancel(id, 'requested');
      expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'cancelled' });
      expect(await write(id, 'a', 4, [], cancelled(nothingProduced))).toEqual({ kind: 'ok' });
    });

    it('answers each of several responses for itself', async () => {
      const [id, superseded, ended, broke] = [
        await running('a'),
        await running('b'),
        await running('a'),
        await running('a'),
      ];
      await write(ended, 'a', 3, [], whole);
      await store.server.client.del(store.keys.log(broke));
      await store.server.client.set(store.keys.log(broke), 'no stream');
      const events = [delta(3)];
      const ids = [broke, superseded, id, ended, gone];
      const results = await store.append(
        ...ids.map((responseId) => ({ responseId, token: 'a', sequenceNumber: 3, events })),
      );
      expect(results.slice(1)).toEqual(['superseded', 'ok', 'terminal', 'missing']);
      expect(String(results[0])).toContain('WRONGTYPE');
      expect((await logOf(id)).at(-1)).toEqual([3, delta(3)]);
      expect(await record(broke)).toMatchObject({ sequenceNumber: 2 });
      expect(await logOf(superseded)).toHaveLength(3);
    });

    it('is an error of the step where none of them could be written', async () => {
      const id = await running('a');
      await store.server.client.del(store.keys.log(id));
      await store.server.client.set(store.keys.log(id), 'no stream');
      const appending = { responseId: id, token: 'a', sequenceNumber: 3, events: [delta(3)] };
      await expect(store.append(appending)).rejects.toThrow(/^WRONGTYPE/);
    });

    it('publishes several responses to an api process in one message, as long as that is not large', async () => {
      const watchers = ['1', '2'].map((name) => store.keys.apiProcess(name));
      const subscriber = store.server.subscriber();
      const messages: [string, string][] = [];
      // What was published before somebody subscribed may arrive later, from another server of the cluster.
      subscriber.on('message', (channel: string, message: string) => {
        if (!message.includes('in_progress')) messages.push([channel, message]);
      });
      const [of1, of2, ofBoth, large, unwatched] = [
        await running('a', { background: false, watchers: ['1'] }),
        await running('a', { background: false, watchers: ['2'] }),
        await running('a', { background: false, watchers: ['1', '2'] }),
        await running('a', { background: false, watchers: ['1'] }),
        await running('a'),
      ];
      await subscriber.subscribe(...watchers);
      const text = 'x'.repeat(40_000);
      const appends = [of1, of2, ofBoth, unwatched].map((responseId) => ({
        ...{ responseId, token: 'a', sequenceNumber: 3 },
        events: [delta(3)],
      }));
      await store.append(...appends);
      await store.append(
        ...[of1, ofBoth].map((responseId) => ({ responseId, token: 'a', sequenceNumber: 4, events: [text] })),
        { responseId: large, token: 'a', sequenceNumber: 3, events: [text, text] },
      );
      await eventually(() => messages.length === 6);
      const told = (id: string, first: number, event: string) => `${id} ${first} 1 -\n${event}`;
      const both = told(ofBoth, 3, delta(3));
      expect(messages).toEqual([
        [watchers[0], `${told(of1, 3, delta(3))}\n${both}`],
        [watchers[1], `${told(of2, 3, delta(3))}\n${both}`],
        [watchers[0], told(of1, 4, text)],
        [watchers[0], `${large} look`],
        [watchers[0], told(ofBoth, 4, text)],
        [watchers[1], told(ofBoth, 4, text)],
      ]);
    });

    it('publishes the bytes of the log to every api process that watches', async () => {
      const watchers = ['1', '2'].map((name) => store.keys.apiProcess(name));
      const subscriber = store.server.subscriber();
      const messages: [string, string][] = [];
      subscriber.on('message', (channel: string, message: string) => messages.push([channel, message]));
      await subscriber.subscribe(...watchers);
      for (const name of ['1', '2']) await store.holdLease(name);
      const id = await running('a', { background: false, watchers: ['1', '2'] });
      await write(id, 'a', 3, [delta(3), delta(4)]);
      await write(id, 'a', 5, [], whole);
      await eventually(() => messages.length === 6);
      const end = JSON.stringify({ id, sequence_number: 5, ...whole });
      const expected = [
        `${id} 2 1 -\n{"type":"response.in_progress"}`,
        `${id} 3 2 -\n${delta(3)}\n${delta(4)}`,
        `${id} 5 1 completed\n{"type":"response.completed"}\n${end}`,
      ];
      expect(messages).toEqual(expected.flatMap((message) => watchers.map((watcher) => [watcher, message])));
    });

    it('publishes the end of a response that nobody streams as it is stored', async () => {
      const subscriber = store.server.subscriber();
      const messages: string[] = [];
      subscriber.on('message', (_channel: string, message: string) => messages.push(message));
      await subscriber.subscribe(store.keys.apiProcess('1'));
      await store.holdLease('1');
      const id = await running('a', { background: false, streams: false, watchers: ['1'] });
      await write(id, 'a', 3, [], whole);
      await eventually(() => messages.length > 0);
      expect(messages).toEqual([await field(id, 'result')]);
      expect(messages).toEqual([JSON.stringify({ id, sequence_number: 3, ...whole })]);
    });

    it('lets nothing of an open response expire, and starts the retention with the end', async () => {
      const { keys } = store;
      const id = await running('a', { text: 'x'.repeat(70_000) });
      const left = () =>
        Promise.all(
          [keys.record(id), keys.log(id), keys.large(id)].map((key) => store.server.client.pttl(key)),
        );
      expect(await left()).toEqual([-1, -1, -1]);
      await write(id, 'a', 3, [], whole);
      const [ofRecord = 0, ofLog = 0, ofInput = 0] = await left();
      expect(ofRecord).toBeLessThanOrEqual(retention.responseSeconds * 1_000);
      expect(ofLog).toBeLessThanOrEqual(retention.eventLogSeconds * 1_000);
      expect(ofInput).toBeLessThanOrEqual(retention.responseSeconds * 1_000);
      expect(Math.min(ofRecord, ofLog, ofInput)).toBeGreaterThan(0);
    });
  });

  describe('release', () => {
    it('gives a response back without counting the attempt', async () => {
      const id = await running('a');
      expect(await store.attempts.release({ id: id, token: 'b' }, { isCounted: false })).toBe(false);
      expect(await store.attempts.release({ id: id, token: 'a' }, { isCounted: false })).toBe(true);
      expect(await store.attempts.release({ id: id, token: 'a' }, { isCounted: false })).toBe(false);
      expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'superseded' });
      expect(await take(id, 'b')).toMatchObject({ kind: 'run', record: { attempt: 1 } });
      expect(await store.attempts.release({ id: gone, token: 'a' }, { isCounted: false })).toBe(false);
    });
  });

  describe('a release of a worker that stays reachable', () => {
    it('has it told of a request for the end, and keeps nobody from running the response', async () => {
      const subscriber = store.server.subscriber();
      const asked: string[] = [];
      subscriber.on('message', (_channel: string, responseId: string) => asked.push(responseId));
      await subscriber.subscribe(store.keys.workerProcess('w'));
      const [postponed, taken, givenBack] = [await running('a'), await running('a'), await running('a')];
      const options = { isCounted: false, staysReachable: true };
      for (const id of [postponed, taken]) {
        expect(await store.attempts.release({ id, token: 'a' }, options)).toBe(true);
        expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'superseded' });
      }
      await store.attempts.release({ id: givenBack, token: 'a' }, { isCounted: false });
      const other = store.worker({ processId: 'other' });
      expect(await other.claim(taken, 'b')).toMatchObject({ kind: 'run', record: { attempt: 1 } });
      for (const id of [taken, givenBack, postponed]) await store.caller.cancel(id, 'requested');
      // The last is told last: of the others this worker hears nothing.
      await eventually(() => asked.includes(postponed));
      expect(asked).toEqual([postponed]);
    });
  });

  describe('leases', () => {
    function states(...held: [string, string][]) {
      const named = held.map(([responseId, token]) => ({ responseId, token }));
      return store.attempts.checkLeases(named);
    }

    it('are told apart: held, superseded, asked to end', async () => {
      const held = await running('a');
      const superseded = await running('a');
      await take(superseded, 'b');
      const ended = await running('a');
      await write(ended, 'a', 3, [], whole);
      const asked = await running('a');
      await store.caller.cancel(asked, 'requested');
      const ids = [held, superseded, ended, asked, gone];
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
      const watcher = store.keys.apiProcess('1');
      await store.holdLease('1');
      const id = await running('a', { background: false, watchers: ['1'] });
      // Leases lapse by the clock, also while nothing could renew them.
      await store.server.client.del(watcher);
      expect(await states([id, 'a'])).toEqual(['ok']);
      await store.server.client.set(watcher, '1', 'PX', 60_000);
      expect(await states([id, 'a'])).toEqual(['ok']);
      expect(await field(id, 'left_at')).toBeNull();
    });

    it('end when the watching process stays dead', async () => {
      const id = await running('a', { background: false, watchers: ['dead'] });
      expect(await states([id, 'a'])).toEqual(['ok']);
      await change(id, { left_at: Number(await field(id, 'left_at')) - 3_000 });
      expect(await states([id, 'a'])).toEqual(['cancelled']);
    });
  });

  describe('leaving', () => {
    function leaves(id: string, graceMs = 0) {
      return store.caller.leave(id, { graceMs });
    }

    it('asks for the end when nobody else waits', async () => {
      const id = await accepted({ background: false, watchers: ['1'] });
      expect(await leaves(id)).toEqual({ kind: 'asked', isQueued: true });
      expect(await leaves(id)).toEqual({ kind: 'asked', isQueued: true });
      expect(await field(id, 'cancel')).toBe('caller_left');
    });

    it('rings the worker that runs it', async () => {
      await store.attempts.start();
      await store.holdLease('1');
      const id = await running('a', { background: false, watchers: ['1'] });
      expect(await leaves(id)).toEqual({ kind: 'asked', isQueued: false });
      await eventually(() => store.rung.includes(id));
    });

    it('asks for nothing while others wait, in the background, or within the grace', async () => {
      await store.holdLease('2');
      const watched = await accepted({ background: false, watchers: ['1', '2'] });
      expect(await leaves(watched)).toEqual({ kind: 'detached' });
      expect(await field(watched, 'watchers')).toBe(store.keys.apiProcess('2'));
      expect(await leaves(await accepted({ watchers: ['1'] }))).toEqual({ kind: 'detached' });
      const withGrace = await accepted({ background: false, watchers: ['1'] });
      expect(await leaves(withGrace, 30_000)).toEqual({ kind: 'detached' });
    });

    it('changes nothing of what has ended or is gone', async () => {
      const id = await accepted({ background: false });
      await write(id, '', 2, [], broken);
      expect(await leaves(id)).toEqual({ kind: 'terminal' });
      expect(await leaves(gone)).toEqual({ kind: 'missing' });
      expect(await exists(store.keys.record(gone))).toBe(0);
    });

    it('is undone by attaching again', async () => {
      const id = await accepted({ background: false, watchers: ['1'] });
      await leaves(id, 30_000);
      expect(await field(id, 'left_at')).not.toBeNull();
      expect(await store.caller.attach(id)).toBe(true);
      expect(await store.caller.attach(id)).toBe(true);
      expect(await field(id, 'left_at')).toBeNull();
      expect(await field(id, 'watchers')).toBe(store.keys.apiProcess('1'));
      expect(await store.caller.attach(gone)).toBe(false);
    });
  });

  describe('cancelling', () => {
    it('asks for the end of whatever has not ended, once', async () => {
      const queued = await accepted();
      expect(await store.caller.cancel(queued, 'requested')).toEqual({ kind: 'asked', isQueued: true });
      expect(await store.caller.cancel(queued, 'deleted')).toEqual({ kind: 'asked', isQueued: true });
      expect(await field(queued, 'cancel')).toBe('requested');
      const id = await running('a');
      expect(await store.caller.cancel(id, 'requested')).toEqual({ kind: 'asked', isQueued: false });
      await write(id, 'a', 3, [], whole);
      expect(await store.caller.cancel(id, 'requested')).toEqual({ kind: 'terminal' });
      expect(await store.caller.cancel(gone, 'requested')).toEqual({
        kind: 'missing',
      });
    });

    it('leaves alone what a worker has, where that is wanted, and no other that has begun', async () => {
      const [givenBack, postponed, lost] = [await running('a'), await running('a'), await running('a')];
      await store.attempts.release({ id: givenBack, token: 'a' }, { isCounted: false, isHandOver: true });
      const options = { isCounted: false, staysReachable: true };
      await store.attempts.release({ id: postponed, token: 'a' }, options);
      const cancel = (id: string) => store.caller.cancel(id, 'requested', { unlessHeld: true });
      for (const id of [givenBack, postponed, lost]) {
        expect(await cancel(id)).toEqual({ kind: 'asked', isQueued: false });
        expect(await take(id, 'b')).toMatchObject({ kind: 'end', because: 'cancelled' });
      }
      const held = await running('a');
      await store.server.client.set(store.keys.workerProcess('w'), '1', 'PX', 60_000);
      expect(await cancel(held)).toEqual({ kind: 'held' });
      expect(await field(held, 'cancel')).toBeNull();
    });
  });

  describe('erasing', () => {
    it('leaves nothing, and refuses the worker that still runs it', async () => {
      const { keys } = store;
      const queued = await accepted();
      const id = await running('a', { text: 'x'.repeat(70_000) });
      await store.caller.erase(id, 'team-a');
      await store.caller.erase(queued, 'team-a');
      await store.caller.erase(queued, 'team-a');
      const left = [keys.record(id), keys.log(id), keys.large(id), keys.record(queued), keys.open];
      expect(await exists(...left)).toBe(0);
      expect(await waiting()).toBe(0);
      expect(await write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'missing' });
    });

    it('waits for the last reader when it is asked to', async () => {
      const id = await accepted({ watchers: ['1', '2'] });
      expect(await store.process('1').eraseAfterReader(id, 'team-a')).toBe(false);
      expect(await store.process('2').eraseAfterReader(id, 'team-a')).toBe(true);
      expect(await record(id)).toBeUndefined();
    });
  });

  describe('abandon', () => {
    /** Deadlines of an accept that can still arrive, and of one that cannot. */
    const [ahead, past] = [Date.now() + 3_600_000, 0];

    it('asks for the end of what was accepted without an answer', async () => {
      const id = await accepted();
      expect(await store.caller.abandon(id, past)).toEqual({
        kind: 'asked',
        isQueued: true,
        hasBegun: false,
      });
      expect((await take(id, 'a')).kind).toBe('end');
    });

    it('ends an attempt that has begun by the time it is heard', async () => {
      const id = await running('a');
      expect(await store.caller.abandon(id, past)).toEqual({
        kind: 'asked',
        isQueued: false,
        hasBegun: true,
      });
      const held = [{ responseId: id, token: 'a' }];
      expect(await store.attempts.checkLeases(held)).toEqual(['cancelled']);
    });

    it('leaves a response alone that somebody else was told of', async () => {
      const id = await accepted();
      await store.process('other').attach(id);
      expect(await store.caller.abandon(id, past)).toEqual({ kind: 'detached', hasBegun: false });
      expect(await field(id, 'cancel')).toBeNull();
    });

    it('lets nobody join what is taken back', async () => {
      const id = await accepted();
      await store.caller.abandon(id, past);
      expect(await store.process('other').attach(id)).toBe(false);
      expect(await field(id, 'followed')).toBeNull();
      await take(id, 'a');
      await store.write(id, 'a', 2, [], cancelled(nothingProduced));
      expect(await store.process('other').attach(id)).toBe(false);
    });

    it('lets everybody join what had its end before it could be taken back', async () => {
      const id = await running('a', { streams: false });
      await store.caller.abandon(id, past);
      await store.write(id, 'a', 3, [], completed(nothingProduced, 1_700_000_000));
      expect(await store.process('other').attach(id)).toBe(true);
    });

    it('takes an input away whose accept never came', async () => {
      await store.server.client.set(store.keys.large(gone), 'a prompt');
      expect(await store.caller.abandon(gone, past)).toEqual({ kind: 'missing', hasBegun: false });
      expect(await exists(store.keys.large(gone))).toBe(0);
    });

    it('tells what ran to its end', async () => {
      const id = await running('a', { streams: false });
      await store.write(id, 'a', 3, [], completed(nothingProduced, 1_700_000_000));
      expect(await store.caller.abandon(id, past)).toEqual({ kind: 'terminal', hasBegun: true });
    });

    it('decides nothing while the accept can still arrive', async () => {
      expect(await store.caller.abandon(gone, ahead)).toEqual({ kind: 'undecided' });
      const id = await accepted();
      expect(await store.caller.abandon(id, ahead)).toMatchObject({ kind: 'asked' });
    });
  });

  describe('survey', () => {
    const look = (offset = 0, count = 100) => store.attempts.survey('0', { offset, count });

    it('tells what stands in each open record, in the order in which their time runs out', async () => {
      const known: [string, string][] = [];
      const add = async (kind: string, options: AcceptedOptions, act?: (id: string) => Promise<unknown>) => {
        const id = await accepted(options);
        await store.server.client.zadd(store.keys.open, 1_000 + known.length, id);
        await act?.(id);
        known.push([id, kind]);
      };
      await add('unqueued', {});
      await add('queued', {}, (id) => store.caller.noteJob(id));
      await add('cancelled', { fields: { cancel: 'requested' } });
      await add('cancelled', { background: false });
      await add('expired', { fields: { queue_by: 1 } });
      await add('in_progress', {}, (id) => take(id, 'a'));
      await add('vanished', {}, (id) => store.server.client.del(store.keys.record(id)));
      const found = await look();
      expect(found.map(({ responseId, kind }) => [responseId, kind])).toEqual(known);
      expect(found[5]).toMatchObject({ queue: 'simulator' });
      expect(found[0]?.ageMs).toBeGreaterThanOrEqual(0);
      // What has vanished is looked at once.
      expect((await look()).map(({ kind }) => kind)).not.toContain('vanished');
    });

    it('tells what runs in a worker that lives from what may have lost it', async () => {
      await running('a');
      expect((await look()).map(({ kind }) => kind)).toEqual(['in_progress']);
      await store.server.client.set(store.keys.workerProcess('w'), '1');
      expect((await look()).map(({ kind }) => kind)).toEqual(['held']);
    });

    it('finds what should have ended while it ran', async () => {
      const late = await running('a');
      await change(late, { run_by: 1 });
      const unwanted = await running('b');
      await store.caller.cancel(unwanted, 'requested');
      const found = new Map((await look()).map(({ responseId, kind }) => [responseId, kind]));
      expect(found).toEqual(
        new Map([
          [late, 'overdue'],
          [unwanted, 'stopping'],
        ]),
      );
    });

    it('goes in pages', async () => {
      const ids = [];
      for (let at = 0; at < 5; at += 1) ids.push(await accepted());
      for (const [at, id] of ids.entries()) await store.server.client.zadd(store.keys.open, at, id);
      expect((await look(3, 10)).map(({ responseId }) => responseId)).toEqual(ids.slice(3));
      expect(await look(5, 10)).toEqual([]);
    });

    it('finds what is due alone, and puts off what is still open', async () => {
      const [late, running_, waiting_] = [await accepted(), await running('a'), await accepted()];
      const now = Date.now();
      await change(late, { queue_by: now - 10 });
      const due = new Map([
        [late, now - 10],
        [running_, now - 5],
      ]);
      for (const [id, at] of due) await store.server.client.zadd(store.keys.open, at, id);
      expect(await store.attempts.nextDue('0')).toBe(now - 10);
      const found = await store.attempts.surveyDue('0', { now, count: 10 });
      expect(found.map(({ responseId, kind }) => [responseId, kind])).toEqual([
        [late, 'expired'],
        [running_, 'in_progress'],
      ]);
      expect(await store.attempts.surveyDue('0', { now, count: 10 })).toEqual([]);
      // A running one is due again when its time runs out, and not before.
      const again = Number(await store.server.client.zscore(store.keys.open, running_));
      expect(again).toBe(Number(await field(running_, 'run_by')));
      expect(Number(await store.server.client.zscore(store.keys.open, waiting_))).toBeGreaterThan(now);
    });
  });

  describe('a record of a release that knew no facts', () => {
    it('keeps the rescue from nothing when it is due, or when waiting responses are counted anew', async () => {
      const { client } = store.server;
      const [old, other] = [unknownId(), await accepted()];
      const asItWas = { version: '2', status: 'queued', tenant: 'team-a', queue_by: Date.now() - 10 };
      await client.hset(store.keys.record(old), asItWas);
      await client.zadd(store.keys.open, asItWas.queue_by, old);
      const found = await store.attempts.surveyDue('0', { now: Date.now(), count: 10 });
      expect(found).toMatchObject([{ responseId: old, kind: 'unknown_version' }]);
      expect(Number(await client.zscore(store.keys.open, old))).toBeGreaterThan(Date.now());
      expect(await store.attempts.recount('0')).toBe(true);
      expect(await store.waiting()).toBe(1);
      expect(await record(other)).toMatchObject({ status: 'queued' });
    });
  });

  describe('a process whose clock is ahead', () => {
    it('puts off nothing that is due a moment later', async () => {
      const [queued, run] = [await accepted(), await running('a')];
      const dueAt = async (id: string) => Number(await store.server.client.zscore(store.keys.open, id));
      const before = [await dueAt(queued), Number(await field(run, 'run_by'))];
      const ahead = Date.now() + 3_600_000;
      await store.attempts.surveyDue('0', { now: ahead, count: 10 });
      expect([await dueAt(queued), await dueAt(run)]).toEqual(before);
    });
  });

  describe('counts of waiting responses', () => {
    it('are counted anew after a record has vanished, whatever else is open', async () => {
      const [vanished, left] = [await accepted(), await accepted()];
      await running('a');
      await store.server.client.del(store.keys.record(vanished));
      await store.attempts.survey('0', { offset: 0, count: 10 });
      expect(await waiting()).toBe(2);
      expect(await store.attempts.recount('0')).toBe(true);
      const counted = await store.caller.waiting('0');
      expect(counted.all.responses).toBe(1);
      expect(counted.byTenant.get('team-a')).toEqual(counted.all);
      await take(left, 'b');
      expect(await waiting()).toBe(0);
    });
  });

  describe('the lease of the rescue', () => {
    it('stays with the process that renews it', async () => {
      const [first, second] = [store.worker({ processId: 'w1' }), store.worker({ processId: 'w2' })];
      expect(await first.leadRescue('0', 60_000)).toBe(true);
      expect(await second.leadRescue('0', 60_000)).toBe(false);
      expect(await first.leadRescue('0', 1)).toBe(true);
      // Real time: the store owns the clock of the lease.
      await eventually(() => second.leadRescue('0', 60_000));
      expect(await first.leadRescue('0', 60_000)).toBe(false);
    });
  });

  describe('marking as enqueued', () => {
    it('does not bring back a record that is gone', async () => {
      const id = await accepted();
      await store.caller.noteJob(id);
      expect(await record(id)).toMatchObject({ isEnqueued: true });
      await store.caller.noteJob(gone);
      expect(await exists(store.keys.record(gone))).toBe(0);
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
      const all = await store.caller.readEvents(id, -1, 1_000);
      expect(all).toHaveLength(23);
      for (let cursor = -1; cursor < 24; cursor += 1) {
        expect(await store.caller.readEvents(id, cursor, 1_000)).toEqual(all.slice(cursor + 1));
        expect(await store.caller.readEvents(id, cursor, 3)).toEqual(all.slice(cursor + 1, cursor + 4));
      }
    });
  });
});

describe('a server that lost its scripts', () => {
  it('is sent them again without anybody noticing', async () => {
    const own = await startLocalRedis();
    const lost = new StoreUnderTest(await oneServer(own.url));
    try {
      await lost.accepted();
      await lost.server.client.script('FLUSH');
      const id = await lost.accepted();
      await lost.server.client.script('FLUSH');
      expect((await lost.take(id, 'a')).kind).toBe('run');
      await lost.server.client.script('FLUSH');
      expect(await lost.write(id, 'a', 3, [delta(3)])).toEqual({ kind: 'ok' });
      await lost.server.client.script('FLUSH');
      const held = [{ responseId: id, token: 'a' }];
      expect(await lost.attempts.checkLeases(held)).toEqual(['ok']);
    } finally {
      await lost.close();
      await own.stop();
    }
  });
});
