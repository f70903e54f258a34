import type { TelemetryEvents } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { startableTestApi } from './kept-api.ts';
import { apiKeys, model, type TestApiOptions } from './test-api.ts';

const api = startableTestApi();
let refused: TelemetryEvents['response.refused'][];
let ended: TelemetryEvents['response.ended'][];

async function start(options: TestApiOptions = {}): Promise<void> {
  await api.start({ isKept: false, ...options });
  api.telemetry.on('response.refused', (fact) => refused.push(fact));
  api.telemetry.on('response.ended', (fact) => ended.push(fact));
}

beforeEach(() => {
  refused = [];
  ended = [];
});

const idOf = (answer: { json: () => Record<string, unknown> }) => String(answer.json()['id']);

describe('a request to create a response that is refused', () => {
  it.each([
    { because: 'of a limit of its tenant', tenant: 'short', usedPercent: 0, status: 429 },
    { because: 'Redis is full', tenant: 'first', usedPercent: 99, status: 503 },
  ] as const)(
    'because $because is told of once, over HTTP and over a WebSocket',
    async ({ tenant, usedPercent, status }) => {
      await start({ withoutWorker: true });
      const key = apiKeys[tenant];
      const body = { model, input: 'Hi' };
      await api.create({ ...body, background: true }, { key });
      api.memory.usedPercent = usedPercent;
      for (const mode of [{ background: true }, {}, { stream: true }]) {
        expect((await api.create({ ...body, ...mode }, { key })).status).toBe(status);
      }
      const client = await api.connect({ key });
      await client.turn(body);
      await client.close();
      const code = status === 429 ? 'rate_limit_exceeded' : 'server_is_overloaded';
      expect(refused).toEqual(Array.from({ length: 4 }, () => ({ tenant, model, code })));
    },
  );

  it('before its body is read has no model', async () => {
    await start({ withoutWorker: true, bodyBytesInFlight: 2_000_000 });
    const held = api.bodyBudget.open('second');
    held.grow(1_000_000);
    const other = api.bodyBudget.open('narrow');
    other.grow(999_990);
    const answer = await api.create({ model, input: 'Hi' });
    expect(answer.status).toBe(503);
    expect(refused).toEqual([{ tenant: 'first', model: '', code: 'server_is_overloaded' }]);
    held.release();
    other.release();
  });

  it('for what is wrong with it is not told of', async () => {
    await start({ withoutWorker: true });
    for (const body of ['{', { model: 'unknown', input: 'Hi' }, { model, input: 'Hi', temperature: 9 }]) {
      expect((await api.create(body)).status).toBeLessThan(429);
    }
    expect(refused).toEqual([]);
  });
});

describe('a response that an api ends', () => {
  it('is told of once when it is cancelled in its queue, however often that is asked for', async () => {
    await start({ withoutWorker: true });
    const id = idOf(await api.create({ model, input: 'Hi', background: true }));
    const cancel = () => api.create('', { path: `/responses/${id}/cancel` });
    await Promise.all([cancel(), cancel(), cancel()]);
    await cancel();
    expect(ended).toEqual([
      {
        responseId: id,
        tenant: 'first',
        model,
        attempt: 0,
        status: 'cancelled',
        because: 'cancelled',
        code: undefined,
        inputTokens: undefined,
        outputTokens: undefined,
      },
    ]);
  });

  it('is told of once when its caller has waited too long', async () => {
    await start({ withoutWorker: true, syncWaitMs: 50 });
    await api.create({ model, input: 'Hi' });
    await eventually(() => ended.length > 0);
    expect(ended).toMatchObject([{ tenant: 'first', status: 'cancelled' }]);
  });

  it('is left to its worker once that has taken it', async () => {
    await start();
    api.worker.onRun((run) => run.hang());
    const id = idOf(await api.create({ model, input: 'Hi', background: true }));
    await eventually(() => api.worker.runs.length > 0);
    await api.create('', { path: `/responses/${id}/cancel` });
    expect(ended).toEqual([]);
  });
});
