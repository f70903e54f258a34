import { completed, countDerivedEvents, deriveEvents, type OutputItem } from '@sluice/contract';
import { said, within } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import type { CallerStore, HoldMemory, LoggedEvent } from '../src/index.ts';
import { noHold, storeForEachTest } from './store-under-test.ts';

const never = new AbortController().signal;
const words = 'Say "this".\n';
const longText = words.repeat(50_000);

const store = storeForEachTest();

const output: OutputItem[] = [
  said('short'),
  said(longText, 'msg_2'),
  {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'c',
    name: 'f',
    arguments: JSON.stringify(longText),
    status: 'completed',
  },
  said('last', 'msg_3'),
];
const end = completed({ output, usage: null }, 1);

/** An api process, and which commands each of its connections sent. */
async function startedApi() {
  const { server } = store;
  const names = ['commands', 'bulk', 'largeValues', 'longEnds'] as const;
  const connections = Object.fromEntries(names.map((name) => [name, server.connect()])) as Record<
    (typeof names)[number],
    ReturnType<typeof server.connect>
  >;
  const pieces = vi.spyOn(connections.longEnds, 'getrangeBuffer');
  /** How often an end was read: as often as its first piece. */
  const longReads = () => pieces.mock.calls.filter(([, from]) => from === 0).length;
  await Promise.all(names.map((name) => connections[name].ping()));
  let received = 0;
  for (const name of ['commands', 'bulk'] as const) {
    const { stream } = connections[name];
    stream.on('data', (bytes: Buffer) => (received += bytes.length));
  }
  const api = store.callerOver(connections.commands, connections);
  await api.start();
  return { api, connections, longReads, bytesBesideLong: () => received };
}

/** Memory as an api holds it: how much at a time, and at most. */
function memory() {
  const held = { now: 0, most: 0 };
  const hold = (bytes: number) => {
    held.now += bytes;
    held.most = Math.max(held.most, held.now);
    return Promise.resolve(() => void (held.now -= bytes));
  };
  return { held, hold };
}

async function eventsOf(api: CallerStore, id: string, cursor: number, hold: HoldMemory) {
  const subscription = api.follow(id, { cursor, readFirst: true, derived: true, hold });
  const events: LoggedEvent[] = [];
  try {
    for (;;) {
      const batch = await within(subscription.next(never));
      if (!batch) throw new Error('gone');
      events.push(...batch.events);
      if (batch.end) return { events, ended: batch.texts?.filled(batch.end) ?? batch.end };
    }
  } finally {
    subscription.close();
  }
}

const whole = ({ json, texts }: LoggedEvent) =>
  texts ? Buffer.concat(texts.piecesOf(json)).toString() : json;

describe('a long end of a response', () => {
  it('goes over a connection of its own, once for all who read it at a time', async () => {
    const { api, longReads, bytesBesideLong } = await startedApi();
    const id = await store.ended({}, output);
    const record = await api.read(id);
    expect(record).toMatchObject({ status: 'completed', end: undefined });
    const bytes = record?.longEndBytes ?? 0;
    expect(bytes).toBeGreaterThan(longText.length);
    const { held, hold } = memory();
    const opened = await Promise.all(Array.from({ length: 20 }, () => api.openEnd(id, { bytes, hold })));
    for (const open of opened) expect(open?.texts?.filled(open.end)).toEqual(end);
    expect(longReads()).toBe(1);
    expect(held.now).toBe(bytes);
    for (const open of opened) open?.close();
    expect(held.now).toBe(0);
    expect(api.openEnds).toBe(0);
    // Short fields alone came over the others.
    expect(bytesBesideLong()).toBeLessThan(16 * 1024);
  });

  it('is kept by nobody who waits for room for what it reads beside', async () => {
    const { api, longReads } = await startedApi();
    const id = await store.ended({}, output);
    const bytes = (await api.read(id))?.longEndBytes ?? 0;
    const { held, hold } = memory();
    const first = await api.openEnd(id, { bytes, hold });
    const asked = Promise.withResolvers<void>();
    const room = Promise.withResolvers<() => void>();
    const holdBeside = () => {
      asked.resolve();
      return room.promise;
    };
    const reading = api.openEnd(id, { bytes, hold, holdBeside });
    await asked.promise;
    first?.close();
    expect([held.now, api.openEnds]).toEqual([0, 0]);
    const freeBeside = vi.fn<() => void>();
    room.resolve(freeBeside);
    // The end is gone from memory by then: it opens it for itself, with all that it needs.
    const second = await reading;
    expect([held.now, freeBeside.mock.calls.length, longReads()]).toEqual([bytes, 1, 2]);
    const third = await api.openEnd(id, { bytes, hold, holdBeside });
    second?.close();
    third?.close();
    expect([held.now, freeBeside.mock.calls.length, api.openEnds]).toEqual([0, 2, 0]);
  });

  it.each(['commands', 'bulk'] as const)(
    'is read anew behind a connection that was lost, whoever has it open (%s)',
    async (name) => {
      const { api, connections, longReads } = await startedApi();
      const id = await store.ended({}, output);
      const bytes = (await api.read(id))?.longEndBytes ?? 0;
      const { held, hold } = memory();
      const before = await api.openEnd(id, { bytes, hold });
      const lost = new Promise((resolve) => connections[name].once('close', resolve));
      connections[name].disconnect(true);
      await within(lost);
      const after = await api.openEnd(id, { bytes, hold });
      expect([longReads(), held.now, api.openEnds]).toEqual([2, 2 * bytes, 2]);
      before?.close();
      const joined = await api.openEnd(id, { bytes, hold });
      expect([longReads(), held.now, api.openEnds]).toEqual([2, bytes, 1]);
      after?.close();
      joined?.close();
      expect([held.now, api.openEnds]).toEqual([0, 0]);
    },
  );

  it('is read when there is room for it, and not before', async () => {
    const { api, longReads } = await startedApi();
    const id = await store.ended({}, output);
    const room = Promise.withResolvers<() => void>();
    const bytes = (await api.read(id))?.longEndBytes ?? 0;
    const reading = api.openEnd(id, { bytes, hold: () => room.promise });
    await api.read(id);
    expect(longReads()).toBe(0);
    room.reject(new Error('no room'));
    await expect(reading).rejects.toThrow('no room');
    expect(api.openEnds).toBe(0);
    const open = await api.openEnd(id, { bytes, hold: noHold });
    open?.close();
    expect(longReads()).toBe(1);
  });

  it('is gone for who comes too late', async () => {
    const { api } = await startedApi();
    const id = await store.ended({}, output);
    await api.erase(id, 'team-a');
    const { held, hold } = memory();
    expect(await api.openEnd(id, { bytes: 1_000_000, hold })).toBeUndefined();
    expect(held.now).toBe(0);
  });

  it('becomes the same events from any cursor on, and its texts are there once', async () => {
    const { api, longReads } = await startedApi();
    const id = await store.ended({}, output);
    const expected = [
      ...['response.created', 'response.queued', 'response.in_progress'].map((type) => `{"type":"${type}"}`),
      ...[...deriveEvents(end)].map(({ type, ...members }, at) =>
        JSON.stringify({ type, sequence_number: at + 3, ...members }),
      ),
      '{"type":"response.completed"}',
    ];
    expect(expected).toHaveLength(countDerivedEvents(end) + 4);
    const bytes = (await api.read(id))?.longEndBytes ?? 0;
    for (const cursor of [-1, 0, 2, 3, 10, expected.length - 3, expected.length - 2]) {
      const before = longReads();
      const { held, hold } = memory();
      const { events, ended } = await eventsOf(api, id, cursor, hold);
      expect(events.map(whole)).toEqual(expected.slice(cursor + 1));
      expect(events.map(({ sequenceNumber }) => sequenceNumber)).toEqual(
        expected.slice(cursor + 1).map((_, at) => cursor + 1 + at),
      );
      // The events are four times as long as the answer, and none of that is in memory.
      expect(events.reduce((sum, { json }) => sum + json.length, 0)).toBeLessThan(16 * 1024);
      expect(ended).toEqual(end);
      expect(held).toEqual({ now: 0, most: bytes });
      expect(longReads() - before).toBe(1);
    }
  });

  it('is read from the record when it is there', async () => {
    const { api } = await startedApi();
    const id = await store.running('a');
    await store.write(id, 'a', 3, [], end, { inRecord: true });
    const bytes = (await api.read(id))?.longEndBytes ?? 0;
    const open = await api.openEnd(id, { bytes, hold: noHold });
    expect(open?.texts?.filled(open.end)).toEqual(end);
    open?.close();
  });

  it('of many short parts is held for as what it becomes', async () => {
    const { api } = await startedApi();
    const id = await store.ended(
      {},
      Array.from({ length: 2_000 }, (_, at) => said('x'.repeat(100), `msg_${at}`)),
    );
    const bytes = (await api.read(id))?.longEndBytes ?? 0;
    const { held, hold } = memory();
    const open = await api.openEnd(id, { bytes, hold });
    expect(held.now).toBeGreaterThan(5 * bytes);
    open?.close();
    expect(held.now).toBe(0);
  });
});

describe('a long event of a log', () => {
  it('is held for before it is read, and freed when its reader has it', async () => {
    const { api } = await startedApi();
    const id = await store.running('a');
    const delta = (number: number, size: number) =>
      `{"type":"response.output_text.delta","sequence_number":${number},"delta":"${'x'.repeat(size)}"}`;
    const large = [300_000, 400_000, 500_000].map((size, at) => delta(3 + at, size));
    await store.write(id, 'a', 3, large);
    await store.write(id, 'a', 6, [], end);
    const { held, hold } = memory();
    const subscription = api.follow(id, { cursor: 2, readFirst: true, derived: false, hold });
    for (const json of large) {
      const batch = await within(subscription.next(never));
      // One at a time, however many fit into a count.
      expect(batch?.events.map((event) => event.json)).toEqual([json]);
      expect(held.now).toBe(3 * json.length);
    }
    const last = await within(subscription.next(never));
    expect(last?.texts?.filled(last.end)).toEqual(end);
    subscription.close();
    expect(held.now).toBe(0);
  });
});
