import { completed } from '@sluice/contract';
import { said } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import type { AttemptStore } from '../src/attempt-store.ts';
import type { ClaimedRecord } from '../src/record/record.ts';
import { storeForEachTest } from './store-under-test.ts';

describe('the turns that a worker keeps', () => {
  const store = storeForEachTest();

  const keeping = () => store.worker({ keptTurnsBytes: () => 10_000_000 });

  /** Reads what a response continues from, and says which commands that took. */
  async function read(worker: AttemptStore, record: ClaimedRecord) {
    const sending = vi.spyOn(store.server.client, 'sendCommand');
    try {
      const context = await worker.readContext(record);
      const commands = sending.mock.calls.map(([{ name }]) => name);
      return { context, commands };
    } finally {
      sending.mockRestore();
    }
  }

  /** Runs a response that continues from another one to its end, in a worker. */
  async function goOn(worker: AttemptStore, previousId: string, text: string): Promise<string> {
    const record = await store.continued(previousId, 'a', { text });
    const writer = worker.writer(record, {
      onRefused: () => undefined,
      signal: new AbortController().signal,
    });
    const end = completed({ output: [said(`${text} back`)], usage: null }, 1);
    expect(await writer.end(end)).toBe('ok');
    return record.id;
  }

  it('are asked for by one command, and are what the store would say', async () => {
    const worker = keeping();
    const last = (await store.chain(50)).at(-1) ?? '';
    const later = await store.continued(last, 'b');
    const first = await read(worker, later);
    expect(first.context).toMatchObject({ kind: 'whole', items: { length: 100 } });
    expect(await read(worker, later)).toEqual({ ...first, commands: ['exists'] });
  });

  it('include those that it ended itself', async () => {
    const worker = keeping();
    const [first = ''] = await store.chain(1);
    await worker.readContext(await store.continued(first, 'b'));
    const third = await goOn(worker, await goOn(worker, first, 'more'), 'even more');
    const later = await store.continued(third, 'b');
    const { context, commands } = await read(worker, later);
    expect(commands).toEqual(['exists']);
    expect(context).toEqual((await read(store.worker(), later)).context);
  });

  it('are what it does not read again of a conversation that went on elsewhere', async () => {
    const [worker, other] = [keeping(), keeping()];
    const ids = await store.chain(30);
    await worker.readContext(await store.continued(ids.at(-1) ?? '', 'b'));
    const last = await goOn(other, await goOn(other, ids.at(-1) ?? '', 'more'), 'even more');
    const { context, commands } = await read(worker, await store.continued(last, 'b'));
    expect(commands).toEqual(['evalsha', 'exists']);
    expect(context).toMatchObject({ kind: 'whole', items: { length: 64 } });
  });

  it('are not used for a conversation of which a turn was deleted', async () => {
    const worker = keeping();
    const [, second = '', third = ''] = await store.chain(3);
    const later = await store.continued(third, 'b');
    await worker.readContext(later);
    await store.caller.erase(second, 'team-a');
    const broken = { kind: 'broken', missingId: second };
    expect(await worker.readContext(later)).toEqual(broken);
    expect(await worker.readContext(later)).toEqual(broken);
  });

  it('are none of a response that is not stored', async () => {
    const worker = keeping();
    const record = await store.continued((await store.chain(1))[0] ?? '', 'a', { store: false });
    const writer = worker.writer(record, { onRefused: () => undefined, signal: AbortSignal.abort() });
    await writer.end(completed({ output: [said('secret')], usage: null }, 1));
    expect(await worker.readContext({ ...record, previousId: record.id })).toMatchObject({ kind: 'broken' });
  });

  it('are forgotten with the connection, behind which another store may be', async () => {
    const worker = keeping();
    const later = await store.continued((await store.chain(2)).at(-1) ?? '', 'b');
    const first = await read(worker, later);
    store.server.client.emit('close');
    expect((await read(worker, later)).commands).toEqual(first.commands);
  });
});
