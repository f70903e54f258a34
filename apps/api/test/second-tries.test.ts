import { CallerStore } from '@sluice/response-store';
import { eventually, latch, readSse } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

const api = eachTestApi();

const keyed = { headers: { 'Idempotency-Key': 'once' } };

/** Asks for a response that is not stored, which has begun and goes on when `goOn` opens. */
async function heldUnstored() {
  const { begun, goOn } = api.worker.hold('Hello');
  const body = { model, input: 'Hi', store: false };
  const first = api.create(body, keyed);
  const { id } = (await begun.wait()).record;
  return { body, first, record: api.keys.record(id), goOn };
}

describe('an Idempotency-Key', () => {
  it('is free again after a failure, also of a response that is not stored', async () => {
    const body = { model, input: 'Hi', store: false };
    api.worker.onRun((run) => run.fail('model_error'));
    expect((await api.create(body, keyed)).status).toBe(500);
    api.worker.onRun((run) => run.complete());
    expect((await api.create(body, keyed)).status).toBe(200);
  });

  it('is taken while its response runs and when it has an answer, and not after a failure', async () => {
    const isTaken = (tenant: string) => api.responses.isKeyTaken(tenant, 'once');
    const body = { model, input: 'Hi' };
    expect(await isTaken('first')).toBe(false);
    const [begun, goOn] = [latch(), latch()];
    api.worker.onRun(async (run) => {
      begun.open();
      await goOn.wait();
      await run.fail('model_error');
    });
    const first = api.create(body, keyed);
    await begun.wait();
    expect(await isTaken('first')).toBe(true);
    expect(await isTaken('second')).toBe(false);
    goOn.open();
    expect((await first).status).toBe(500);
    expect(await isTaken('first')).toBe(false);
    api.worker.onRun((run) => run.complete());
    expect((await api.create(body, keyed)).status).toBe(200);
    expect(await isTaken('first')).toBe(true);
  });

  it('is answered at once in the background, and goes on standing for what was deleted', async () => {
    const { goOn } = api.worker.hold();
    const body = { model, input: 'Hi', background: true };
    const create = async () => (await api.create(body, keyed)).json();
    const { id } = await create();
    expect(await create()).toMatchObject({ id, status: expect.stringMatching(/^(queued|in_progress)$/) });
    goOn.open();
    await eventually(async () => (await create())['status'] === 'completed');
    await api.fetch(`/v1/responses/${String(id)}`, { method: 'DELETE' });
    expect(await create()).toMatchObject({ error: { code: 'idempotency_result_gone' } });
  });

  it('brings nobody forward whose first request has no job yet', async () => {
    const [name = ''] = api.queue.names;
    await api.queue.pause(name);
    for (let at = 0; at < 3; at += 1) await api.create({ model, input: 'Hi', background: true });
    const body = { model, input: 'Hi' };
    const first = api.create(body, keyed);
    const id = await eventually(async () => {
      const open = await api.redis.client.zrange(api.keys.open, '0', '-1');
      const waits = await Promise.all(open.map(async (each) => api.queue.ahead(name, each)));
      return open[waits.indexOf(3)];
    });
    // As if the second one came between the accept of the first and its job.
    await api.queue.remove(name, id);
    const again = api.create(body, keyed);
    expect(await eventually(() => api.queue.ahead(name, id))).toBe(3);
    await api.queue.resume(name);
    expect((await first).status).toBe(200);
    expect((await again).status).toBe(200);
  });

  it.each([false, true])(
    'keeps nothing of a response that is not stored, streamed again: %s',
    async (stream) => {
      const { body, first, record, goOn } = await heldUnstored();
      const again = stream
        ? api.stream(body, keyed).then(async (answer) => answer.text())
        : api.create(body, keyed);
      // The second caller is there when the record says that somebody follows it.
      await eventually(async () => (await api.redis.client.hget(record, 'followed')) !== null);
      goOn.open();
      expect((await first).status).toBe(200);
      await again;
      await eventually(async () => (await api.redis.client.exists(record)) === 0);
    },
  );

  it.each([false, true])(
    'keeps nothing of it either when it ends while the second caller comes, streamed again: %s',
    async (stream) => {
      const { body, first, record, goOn } = await heldUnstored();
      vi.spyOn(CallerStore.prototype, 'attach').mockImplementationOnce(async function (
        this: CallerStore,
        responseId,
      ) {
        // Only this call is replaced.
        const isThere = await this.attach(responseId);
        goOn.open();
        await first;
        return isThere;
      });
      const again = stream ? api.stream(body, keyed) : api.create(body, keyed);
      expect((await again).status).toBe(409);
      expect((await first).status).toBe(200);
      await eventually(async () => (await api.redis.client.exists(record)) === 0);
    },
  );
});

describe('a reader of a response that was not created as a stream', () => {
  it('gets its end although it is deleted under it', async () => {
    api.worker.onRun((run) => run.hang());
    const { id } = (await api.create({ model, input: 'Hi', background: true })).json() as { id: string };
    const stream = await api.fetch(`/v1/responses/${id}?stream=true`);
    const read = readSse(stream.body ?? '');
    const deleted = await api.fetch(`/v1/responses/${id}`, { method: 'DELETE' });
    expect(deleted.status).toBe(200);
    const { events, done, problems } = await read;
    expect(problems).toEqual([]);
    expect(done).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } });
  });
});

describe('a client that asks for what is not there', () => {
  it('gets 404 or 405 for a method that few have heard of', async () => {
    const answer = await api.fetch('/v1/responses', { method: 'QUERY' });
    expect(answer.status).toBe(405);
  });
});
