import { completed } from '@sluice/contract';
import { said } from '@sluice/testing';
import { expect, it } from 'vitest';
import type { LargeValues } from '../large-values.ts';
import { printEnd } from '../record/end-json.ts';
import { redisKeys } from '../record/keys.ts';
import { type OpenEnd, OpenEnds } from './open-ends.ts';

const responseId = `create-response_0${'a'.repeat(32)}`;
const hold = () => Promise.resolve(() => undefined);

const endOf = (text: string) => completed({ output: [said(text)], usage: null }, 1);

/** The ends of a process, over a store that has one end of a response. */
function opening() {
  const store = { stored: Buffer.alloc(0), reads: 0 };
  const read = (_key: string, from: number, bytes: number) => {
    store.reads += 1;
    return Promise.resolve(Buffer.from(store.stored.subarray(from, from + bytes)));
  };
  const ends = new OpenEnds({ keys: redisKeys('t:'), ends: { read } as unknown as LargeValues });
  const put = (text: string) => {
    store.stored = Buffer.from(printEnd({ responseId, sequenceNumber: 9, end: endOf(text) }));
    return store.stored.length;
  };
  return { ends, store, put };
}

const textOf = (open: OpenEnd | undefined) => open?.texts?.filled(open.end);

it.each([
  { name: 'longer', other: 'new and longer '.repeat(50_000) },
  { name: 'shorter', other: 'new '.repeat(90_000) },
])('gives nobody an end that a $name one has replaced since it was opened', async ({ other }) => {
  for (const holdBeside of [undefined, hold]) {
    const { ends, store, put } = opening();
    const bytes = put('old '.repeat(100_000));
    const old = await ends.open(responseId, { bytes, hold });
    expect(old?.isOf(bytes)).toBe(true);
    const otherBytes = put(other);
    const next = await ends.open(responseId, { bytes: otherBytes, hold, holdBeside });
    expect(textOf(next)).toEqual(endOf(other));
    expect([old?.isOf(bytes), old?.isOf(otherBytes), next?.isOf(otherBytes)]).toEqual([false, false, true]);
    expect(textOf(old)).toEqual(endOf('old '.repeat(100_000)));

    // A reader that closes the old one leaves the other to its readers.
    old?.close();
    const joined = await ends.open(responseId, { bytes: otherBytes, hold, holdBeside });
    expect([store.reads, ends.size]).toEqual([2, 1]);
    next?.close();
    joined?.close();
    expect(ends.size).toBe(0);
  }
});

it('gives nobody an end of the same length behind a lost connection', async () => {
  const { ends, put } = opening();
  const bytes = put('old '.repeat(100_000));
  const old = await ends.open(responseId, { bytes, hold });
  put('new '.repeat(100_000));
  ends.forget();
  expect(old?.isOf(bytes)).toBe(false);
  const next = await ends.open(responseId, { bytes, hold });
  expect(textOf(next)).toEqual(endOf('new '.repeat(100_000)));
  old?.close();
  next?.close();
  expect(ends.size).toBe(0);
});
