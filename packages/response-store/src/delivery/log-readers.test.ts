import { completed, nothingProduced } from '@sluice/contract';
import { expect, it } from 'vitest';
import type { LargeValues } from '../large-values.ts';
import { OpenEnds } from '../reading/open-ends.ts';
import { printEnd } from '../record/end-json.ts';
import { redisKeys } from '../record/keys.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { LoggedEvents, type LogReaderOptions } from './log-readers.ts';

it('reads a long end anew when another one has replaced it, and holds memory for that alone', async () => {
  const responseId = `create-response_0${'a'.repeat(32)}`;
  const endAt = (completedAt: number) => completed(nothingProduced, completedAt);
  const printed = (completedAt: number) =>
    Buffer.from(printEnd({ responseId, sequenceNumber: 9, end: endAt(completedAt) }));
  let stored = printed(1);
  let held = 0;
  const keys = redisKeys('t:');
  const hgetBuffer = () => Promise.resolve(Buffer.from(stored));
  const transfer = (_bytes: number, command: (redis: unknown) => unknown) => command({ hgetBuffer });
  const options: Partial<LogReaderOptions> = {
    responseId,
    reads: { run: () => Promise.resolve({ kind: 'long', bytes: stored.length }) } as unknown as BoundedReads,
    ends: new OpenEnds({ keys, ends: { transfer } as unknown as LargeValues }),
    hold: async (bytes) => {
      held += bytes;
      return () => void (held -= bytes);
    },
  };
  // Its log is not read here.
  const reader = new LoggedEvents(options as LogReaderOptions);

  expect((await reader.end())?.end).toEqual(endAt(1));
  expect((await reader.end())?.end).toEqual(endAt(1));
  expect(held).toBe(stored.length);
  stored = printed(1_000);
  expect((await reader.end())?.end).toEqual(endAt(1_000));
  expect(held).toBe(stored.length);
  reader.close();
  expect(held).toBe(0);
});
