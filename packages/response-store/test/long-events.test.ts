import { completed, nothingProduced, parseEvent } from '@sluice/contract';
import { within } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { LargeValues } from '../src/large-values.ts';
import { readContentEvents } from '../src/reading/read-events.ts';
import { delta, noHold, scriptsSent, storeForEachTest } from './store-under-test.ts';

const never = new AbortController().signal;
const end = completed(nothingProduced, 1_700_000_000);
const long = 'Say "this".\n'.repeat(60_000);

const store = storeForEachTest();

/** The texts that a reader of the log is sent, checked to be numbered without a gap from 3. */
async function readTexts(id: string): Promise<string[]> {
  const subscription = store.caller.follow(id, { cursor: 2, readFirst: true, derived: false, hold: noHold });
  const texts: string[] = [];
  let next = 3;
  try {
    for (;;) {
      const batch = await within(subscription.next(never));
      if (!batch) throw new Error('gone');
      for (const { sequenceNumber, json, texts: marks } of batch.events) {
        expect(sequenceNumber).toBe(next++);
        if (!json.startsWith('{"type":"response.output_text.delta"')) continue;
        const event = parseEvent(marks ? Buffer.concat(marks.piecesOf(json)).toString() : json);
        if (event.type === 'response.output_text.delta') texts.push(event.delta);
      }
      if (batch.end) return texts;
    }
  } finally {
    subscription.close();
  }
}

const keyOf = (id: string, number: number, token = 'a') =>
  store.caller.keys.of(id).longEvent(id, token, number);

describe('a long event', () => {
  it('has a key of its own, and is read in its place', async () => {
    const { client } = store.server;
    const id = await store.running('a');
    const made = store.writer(id);
    const texts = ['one', long, 'two', 'three', long, `${long}!`, 'four'];
    for (const text of texts) made.write(delta(text));
    await made.flush();
    const logged = await store.logOf(id);
    expect(logged.slice(3).map(([, json]) => json.length < 200)).toEqual(texts.map(() => true));
    expect(await client.strlen(keyOf(id, 4))).toBeGreaterThan(long.length);
    // It outlives the minute in which nobody has taken it over.
    expect(await client.pttl(keyOf(id, 4))).toBeGreaterThan(3_600_000);
    expect(await within(made.end(end))).toBe('ok');
    expect(made.waitingCharacters).toBe(0);
    expect(await readTexts(id)).toEqual(texts);
    for (const number of [4, 7, 8]) {
      const stays = await client.pttl(keyOf(id, number));
      expect(stays).toBeGreaterThan(0);
      expect(stays).toBeLessThanOrEqual(30_000);
    }
  });

  it('goes with its response', async () => {
    const { client } = store.server;
    const ids = [await store.running('a'), await store.running('a')];
    for (const [at, id] of ids.entries()) {
      const made = store.writer(id);
      made.write(delta(long));
      await made.flush();
      if (at === 1) await made.end(end);
      expect(await client.exists(keyOf(id, 3))).toBe(1);
      await store.caller.erase(id, 'team-a');
      expect(await client.exists(keyOf(id, 3))).toBe(0);
    }
  });

  it('counts for its tenant', async () => {
    const { client } = store.server;
    const held = async () => Number(await client.hget(store.keys.held('team-a'), 'sum'));
    const id = await store.running('a');
    const before = await held();
    const made = store.writer(id);
    made.write(delta(long));
    await made.flush();
    expect((await held()) - before).toBeGreaterThan(long.length);
    await made.end(end);
    expect((await held()) - before).toBeGreaterThan(long.length);
    await store.caller.erase(id, 'team-a');
    expect(await held()).toBe(0);
  });

  it('is written again when it was lost before an append or the end came', async () => {
    const { client } = store.server;
    const id = await store.running('a');
    let lost = 0;
    const redis = scriptsSent(client, async (send) => {
      if (lost < 1) lost += await client.del(keyOf(id, 3));
      else if (lost < 2) lost += await client.del(keyOf(id, 4));
      return send();
    });
    const made = store.writer(id, { redis });
    made.write(delta(long));
    await within(made.flush());
    expect(lost).toBe(1);
    made.write(delta(long));
    expect(await within(made.end(end))).toBe('ok');
    expect(lost).toBe(2);
    expect(await readTexts(id)).toEqual([long, long]);
  });

  it('goes with the end when it still waits then, and stays, as long as its log, when the reply to that end is lost', async () => {
    const { client } = store.server;
    const id = await store.running('a');
    let lost = 0;
    const redis = scriptsSent(client, async (send) => {
      const reply = await send();
      if (lost > 0 || (await store.caller.read(id))?.status !== 'completed') return reply;
      lost += 1;
      throw new Error('Connection is closed.');
    });
    const made = store.writer(id, { redis });
    for (const text of [long, long, 'last']) made.write(delta(text));
    expect(await within(made.end(end))).toBe('ok');
    expect(lost).toBe(1);
    for (const number of [3, 4]) expect(await client.pttl(keyOf(id, number))).toBeLessThanOrEqual(30_000);
    expect(await readTexts(id)).toEqual([long, long, 'last']);
  });

  it('of a superseded attempt changes nothing, and expires', async () => {
    const id = await store.running('a');
    const late = store.writer(id);
    await store.take(id, 'b', { maxAttempts: 9 });
    late.write(delta(`${long}?`));
    expect(await late.end(end)).toBe('superseded');
    expect(await store.server.client.pttl(keyOf(id, 3))).toBeLessThanOrEqual(60_000);
    const made = store.writer(id, { token: 'b' });
    made.write(delta(long));
    expect(await made.end(end)).toBe('ok');
    expect(await readTexts(id)).toEqual([long]);
  });

  it('is among the events that a later attempt reads, up to one that is gone', async () => {
    const { client } = store.server;
    const id = await store.running('a');
    const made = store.writer(id);
    for (const text of ['one', long, 'two', long, 'three']) made.write(delta(text));
    await made.flush();
    const access = {
      redis: client,
      keys: store.caller.keys,
      large: new LargeValues(client),
      ends: new LargeValues(client),
    };
    const textsOf = async () =>
      (await readContentEvents(access, id)).map((event) =>
        event.type === 'response.output_text.delta' ? event.delta : event.type,
      );
    expect(await textsOf()).toEqual(['one', long, 'two', long, 'three']);
    await client.del(keyOf(id, 6));
    expect(await textsOf()).toEqual(['one', long, 'two']);
    await made.end(end);
  });
});
