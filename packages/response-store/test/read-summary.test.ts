import { completed, nothingProduced } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { defaultCell } from '../src/index.ts';
import { storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

const most = { mostRequestBytes: 1_000_000 };

describe('the summary of a response', () => {
  it('says everything but the content', async () => {
    const id = await store.accepted({ streams: true, background: true });
    const waiting = await store.caller.readSummary(id, most);
    expect(waiting).toMatchObject({ id, status: 'queued', attempts: 0, streams: true, end: undefined });
    await store.take(id, 'token');
    expect(await store.caller.readSummary(id, most)).toMatchObject({ status: 'in_progress', attempts: 1 });
    expect(await store.caller.readSummary(id, most)).not.toHaveProperty('request.input');
  });

  it('has the facts of the end, and no output', async () => {
    const id = await store.accepted();
    await store.caller.endIfQueued(id, completed(nothingProduced, 5));
    const summary = await store.caller.readSummary(id, most);
    expect(summary?.end ?? {}).not.toHaveProperty('output');
  });

  it('is none of a response that is unknown', async () => {
    expect(await store.caller.readSummary(`create-response_0${'a'.repeat(31)}`, most)).toBeUndefined();
  });
});

describe('the open responses of a cell', () => {
  it('are listed in pages, and known by their ids', async () => {
    const ids = [await store.accepted(), await store.accepted(), await store.accepted()];
    const first = await store.caller.openIds(defaultCell, { offset: 0, count: 2 });
    const rest = await store.caller.openIds(defaultCell, { offset: 2, count: 2 });
    expect([...first, ...rest].toSorted()).toEqual(ids.toSorted());
    expect(rest).toHaveLength(1);
    expect(await store.caller.areOpen(defaultCell, [...ids, 'create-response_0none'])).toEqual([
      ...[true, true, true],
      false,
    ]);
    expect(await store.caller.areOpen(defaultCell, [])).toEqual([]);
  });
});
