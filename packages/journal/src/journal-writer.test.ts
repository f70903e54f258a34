import { Telemetry, type TelemetryEvents } from '@sluice/runtime';
import { eventually, latch, type Latch } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { parseEntry } from './journal-line.ts';
import { JournalWriter, type JournalWriterOptions } from './journal-writer.ts';
import { keepJournal } from './keep-journal.ts';

/** A connection that takes entries as the test says. */
function fakeConnection() {
  const sent: string[][] = [];
  const cuts: unknown[] = [];
  let reply: () => Promise<unknown> = () => Promise.resolve(null);
  const connection = {
    eval: (_script: string, _keys: number, _key: string, most: unknown, ...texts: string[]) => {
      sent.push(texts);
      cuts.push(most);
      return reply();
    },
  };
  return {
    // The writer calls it in this one way.
    connection: connection as unknown as JournalWriterOptions['connection'],
    sent,
    cuts,
    onExec: (next: typeof reply) => {
      reply = next;
    },
  };
}

function writerOver(options: Partial<JournalWriterOptions> = {}) {
  const fake = fakeConnection();
  const writer = new JournalWriter({ ...fake, keyPrefix: 'p:', keep: 1000, gatherMs: 5, ...options });
  return { ...fake, writer, entries: () => fake.sent.flat().flatMap((text) => parseEntry(text) ?? []) };
}

const line = (at: number) => ({ what: 'first_output', at, attempt: 1 }) as const;

describe('the writer of the journal', () => {
  it('gathers what is said of one subject, and sends all of it at once', async () => {
    const { writer, sent, entries } = writerOver();
    writer.write('0a', line(1));
    writer.write('0b', line(2));
    writer.write('0a', line(3));
    await eventually(() => sent.length === 1);
    expect(entries().map(({ subject, lines }) => [subject, lines.length])).toEqual([
      ['0a', 2],
      ['0b', 1],
    ]);
    await writer.stop();
    expect(sent).toHaveLength(1);
  });

  it('sends nothing while a reply is awaited, and what has come meanwhile after it', async () => {
    const { writer, sent, onExec } = writerOver();
    const answered = latch();
    onExec(async () => {
      await answered.wait();
    });
    writer.write('0a', line(1));
    await eventually(() => sent.length === 1);
    for (let at = 0; at < 100; at += 1) writer.write('0a', line(at));
    expect(sent).toHaveLength(1);
    answered.open();
    await eventually(() => sent.length === 2);
    await writer.stop();
  });

  it('holds a bounded number while the store is silent, and counts what it drops', async () => {
    const reasons: unknown[] = [];
    const { writer, sent, onExec } = writerOver({
      mostWaiting: 10,
      onDropped: (error) => reasons.push(error),
    });
    let silent: Latch | undefined = latch();
    onExec(async () => {
      await silent?.wait();
    });
    writer.write('0first', line(1));
    await eventually(() => sent.length === 1);
    for (let at = 0; at < 50; at += 1) writer.write(`0${at}`, line(1));
    expect(writer.dropped).toBe(40);
    for (let at = 0; at < 50; at += 1) writer.write('00', line(1));
    expect(writer.dropped).toBe(40 + 50 - 31);
    expect(reasons).toHaveLength(writer.dropped);
    silent.open();
    silent = undefined;
    await writer.stop();
    expect(sent.flat()).toHaveLength(11);
  });

  it('drops what the store refuses, and goes on', async () => {
    const { writer, sent, onExec } = writerOver();
    onExec(() => Promise.reject(new Error('OOM command not allowed')));
    writer.write('0a', line(1));
    await eventually(() => writer.dropped === 1);
    onExec(() => Promise.reject(new Error('Connection is closed.')));
    writer.write('0a', line(1));
    await eventually(() => writer.dropped === 2);
    onExec(() => Promise.resolve(null));
    writer.write('0a', line(1));
    await eventually(() => sent.length === 3);
    expect(writer.dropped).toBe(2);
    await writer.stop();
  });

  it('cuts the journal at its first call, and once in a while', async () => {
    const { writer, sent, cuts } = writerOver({ mostWaiting: 600, gatherMs: 1 });
    for (let round = 1; round <= 5; round += 1) {
      for (let at = 0; at < 400; at += 1) writer.write(`0${at}`, line(1));
      await eventually(() => sent.flat().length === round * 400);
    }
    expect(cuts).toEqual([4_000, '', '', 4_000, '']);
    await writer.stop();
  });

  it('stops soon when the store does not answer', async () => {
    const { writer, sent, onExec } = writerOver({ gatherMs: 60_000 });
    onExec(() => Promise.reject(new Error('Command timed out')));
    for (let at = 0; at < 2_000; at += 1) writer.write(`0${at}`, line(1));
    await writer.stop();
    expect([sent.length, writer.dropped]).toEqual([1, 2_000]);
  });
});

describe('the journal of a process', () => {
  const about = { responseId: 'create-response_0a', model: 'm', attempt: 1 };
  const claimed: TelemetryEvents['attempt.claimed'] = {
    ...about,
    ...{ tenant: 't', mode: 'whole', tier: 'default', acceptedAt: 1, claimedAt: 7, worker: 'w' },
  };

  function journal() {
    const over = writerOver({ gatherMs: 60_000 });
    const telemetry = new Telemetry((error) => {
      throw error;
    });
    let now = 0;
    keepJournal(telemetry, over.writer, () => (now += 1));
    return {
      telemetry,
      lines: async () => {
        await over.writer.stop();
        return over.entries().flatMap(({ lines }) => lines);
      },
    };
  }

  it('says once that a response is postponed for the same reason, however often it is', async () => {
    const { telemetry, lines } = journal();
    for (let time = 0; time < 50; time += 1) {
      telemetry.emit('attempt.claimed', claimed);
      telemetry.emit('attempt.postponed', { ...about, because: 'parked', afterMs: 1_000 });
    }
    telemetry.emit('attempt.claimed', claimed);
    telemetry.emit('attempt.postponed', { ...about, because: 'open', afterMs: 1_000 });
    telemetry.emit('attempt.claimed', claimed);
    telemetry.emit('attempt.called', { ...about, provider: 'p', upstreamModel: 'um' });
    const said = (await lines()).map(({ what }) => what);
    expect(said).toEqual(['claimed', 'postponed', 'claimed', 'postponed', 'claimed', 'called']);
  });

  it('says when a response was claimed as its record does', async () => {
    const { telemetry, lines } = journal();
    telemetry.emit('attempt.claimed', claimed);
    expect(await lines()).toMatchObject([{ what: 'claimed', at: 7, acceptedAt: 1 }]);
  });

  it('keeps digests of metadata, and nothing else of it', async () => {
    const { sent, writer } = writerOver();
    const telemetry = new Telemetry(() => undefined);
    keepJournal(telemetry, writer, () => 5);
    telemetry.emit('response.accepted', {
      ...{ responseId: 'create-response_0a', requestId: 'req', tenant: 't', model: 'm', mode: 'whole' },
      ...{ tier: 'default', acceptedAt: 3, isInLine: false, metadata: { secret: 'word'.repeat(100) } },
    });
    await writer.stop();
    expect(sent.flat().join('')).not.toContain('word');
    expect(sent.flat().join('')).not.toContain('secret');
    expect(sent.flat().join('').length).toBeLessThan(120);
  });
});
