import { randomUUID } from 'node:crypto';
import { eventually, hasServer, type LocalRedis, startFakeUpstream, startLocalRedis } from '@sluice/testing';
import OpenAI, { APIError } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from './service.ts';

/** Names that rendezvous hashing spreads over the three cells. */
const tenants = Array.from({ length: 9 }, (_, at) => ({
  name: `tenant-${at}`,
  key: `sk-of-tenant-${at}-0123456789`,
}));
const cells = ['0', 'E', 's'];
const limit = 4;

/** A tenant of all three cells. */
const wide = { name: 'wide', key: 'sk-of-wide-0123456789', limits: { cells: 3 } };

let stores: LocalRedis[] = [];
/** Their directories are removed at the end. */
const killed: LocalRedis[] = [];
let upstream: Awaited<ReturnType<typeof startFakeUpstream>> | undefined;
let started: Service | undefined;
let open = 0;
let mostOpen = 0;

beforeAll(async () => {
  if (!hasServer) return;
  stores = await Promise.all(cells.map(() => startStore()));
  upstream = await startFakeUpstream();
  upstream.onChatCompletions(async ({ stream, request }) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    void request.ended.then(() => (open -= 1));
    const answer = stream();
    await answer.send({ choices: [{ index: 0, delta: { content: 'Well.' }, finish_reason: 'stop' }] });
    answer.done();
  });
  started = await startService({
    redisUrl: stores[0]?.url ?? '',
    redisUrlOfProcesses: stores.map(({ url }, at) => `${url}${at > 0 ? `?cell=${cells[at]}` : ''}`).join(' '),
    apis: 2,
    workers: 2,
    settings: {
      keys: [...tenants, wide],
      recovery: { lockMs: 3_000, stalledMs: 500 },
      providers: [
        { id: 'simulator', type: 'simulator', firstTokenMs: 10, tokensPerSecond: 100 },
        { id: 'upstream', type: 'openai-chat', baseUrl: upstream.baseUrl },
      ],
      models: [
        { id: 'simulator', routes: [{ provider: 'simulator' }] },
        { id: 'limited', routes: [{ provider: 'upstream' }], concurrency: limit },
      ],
    },
  });
});
afterAll(async () => {
  await started?.stop();
  await upstream?.close();
  for (const store of [...stores, ...killed]) await store.stop();
});

function startStore(at: { port?: number; directory?: string } = {}): Promise<LocalRedis> {
  return startLocalRedis({ kind: 'server', ...at, settings: { appendonly: 'yes', appendfsync: 'always' } });
}

const service = () => started as Service; // skipped without one
const clientOf = (tenant: number, { api = 0, maxRetries = 10 } = {}) =>
  new OpenAI({ apiKey: tenants[tenant]?.key ?? '', baseURL: `${service().apiUrls[api]}/v1`, maxRetries });
const wideClient = (maxRetries = 10) =>
  new OpenAI({ apiKey: wide.key, baseURL: `${service().apiUrls[0]}/v1`, maxRetries });
const cellOf = (id: string) => id[id.indexOf('_') + 1];
const create = (tenant: number, more: { input?: string; previous_response_id?: string } = {}) =>
  clientOf(tenant, { api: tenant % 2 }).responses.create({ model: 'simulator', input: 'Hi', ...more });

describe.skipIf(!hasServer)('a service over three primaries, where there is a server', () => {
  it('has each tenant in one cell, and serves all of them alike', async () => {
    const first = await Promise.all(tenants.map((_tenant, at) => create(at)));
    expect(new Set(first.map(({ id }) => cellOf(id)))).toEqual(new Set(cells));
    const next = await Promise.all(first.map(({ id }, at) => create(at, { previous_response_id: id })));
    expect(next.map(({ id }) => cellOf(id))).toEqual(first.map(({ id }) => cellOf(id)));
    for (const at of tenants.keys()) {
      const client = clientOf(at, { api: 1 - (at % 2) });
      const listed = await fetch(`${client.baseURL}/responses?limit=10`, {
        headers: { authorization: `Bearer ${client.apiKey}` },
      });
      const { data } = (await listed.json()) as { data: { id: string }[] };
      expect(data.map(({ id }) => id)).toEqual([next[at]?.id, first[at]?.id]);
    }
  });

  it('has a tenant that needs more in all of them, and what comes again with its key where it was', async () => {
    const ask = (key?: string) =>
      wideClient().responses.create(
        { model: 'simulator', input: 'Hi' },
        key === undefined ? {} : { headers: { 'idempotency-key': key } },
      );
    const made = await Promise.all(Array.from({ length: 6 }, () => ask()));
    for (const cell of cells) expect(made.filter(({ id }) => cellOf(id) === cell)).toHaveLength(2);
    const keys = Array.from({ length: 9 }, (_, at) => `key-${at}`);
    const keyed = await Promise.all(keys.map(ask));
    // Until all processes know that the tenant has several cells, keys are in its home.
    const placed = await eventually(async () => {
      const { id } = await ask(`later-${randomUUID()}`);
      return cellOf(id) !== cellOf(keyed[0]?.id ?? '') && id;
    });
    expect(placed).toBeDefined();
    const again = await Promise.all(keys.map(ask));
    expect(again.map(({ id }) => id)).toEqual(keyed.map(({ id }) => id));
    const listed = await fetch(`${service().apiUrls[1]}/v1/responses?limit=100`, {
      headers: { authorization: `Bearer ${wide.key}` },
    });
    const { data } = (await listed.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(made.map(({ id }) => id)));
  });

  it('resumes a stream at another api, and cancels, in every cell', async () => {
    for (const at of tenants.keys()) {
      const here = clientOf(at, { api: 0 });
      const there = clientOf(at, { api: 1 });
      const options = { model: 'simulator', input: 'Hi [[sluice: tokens=20]]', background: true } as const;
      const seen: number[] = [];
      let id = '';
      for await (const event of await here.responses.create({ ...options, stream: true })) {
        if (event.type === 'response.created') id = event.response.id;
        seen.push(event.sequence_number);
        if (seen.length === 8) break;
      }
      const rest = await there.responses.retrieve(id, { stream: true, starting_after: seen.at(-1) ?? 0 });
      for await (const event of rest) seen.push(event.sequence_number);
      expect(seen).toEqual(seen.map((_, nth) => nth));
      const hanging = await here.responses.create({ ...options, input: 'Hi [[sluice: hang]]' });
      expect((await there.responses.cancel(hanging.id)).status).toBe('cancelled');
    }
  });

  it('never runs more of a model than its limit over all cells', async () => {
    const ended = await Promise.all(
      Array.from({ length: 90 }, (_, at) =>
        clientOf(at % tenants.length, { api: at % 2 }).responses.create({
          model: 'limited',
          input: `Say ${at}.`,
        }),
      ),
    );
    expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'completed'));
    expect(mostOpen).toBeGreaterThan(0);
    expect(mostOpen).toBeLessThanOrEqual(limit);
  });

  // The first one has what belongs to no response, which processes that run know.
  it.each(['s', '0'])('goes on when the primary of cell %s is lost, and has it again whole', async (lost) => {
    const first = await Promise.all(tenants.map((_tenant, at) => create(at)));
    const isLost = (at: number) => cellOf(first[at]?.id ?? '') === lost;
    const bound = [...tenants.keys()].filter(isLost);
    const input = 'Hi [[sluice: tokens=100]]';
    const running = await Promise.all(
      bound.map((at) => clientOf(at).responses.create({ model: 'simulator', input, background: true })),
    );
    const store = stores[cells.indexOf(lost)];
    if (!store) throw new Error('there is no such store');
    await store.kill();
    killed.push(store);
    for (const at of tenants.keys()) {
      const client = clientOf(at, { api: at % 2, maxRetries: 0 });
      const made = client.responses.create({ model: 'simulator', input: 'Still there?' });
      if (!isLost(at)) expect((await made).status).toBe('completed');
      else {
        const error = await made.then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(APIError);
        expect(error).toMatchObject({ status: 503 });
      }
    }
    // Processes that come meanwhile serve the other cells.
    const [api, worker] = await Promise.all([service().addApi(), service().addWorker()]);
    expect((await fetch(`${worker.healthUrl}/readyz`)).status).toBe(200);
    const other = tenants[[...tenants.keys()].find((at) => !isLost(at)) ?? 0];
    const late = new OpenAI({ apiKey: other?.key ?? '', baseURL: `${api.url}/v1`, maxRetries: 0 });
    const made = await late.responses.create({ model: 'simulator', input: 'Hi', background: true });
    const whole = await eventually(async () => {
      const read = await late.responses.retrieve(made.id);
      return read.status === 'completed' && read;
    });
    expect(whole.id).toBe(made.id);
    // A tenant of all cells goes on in the others.
    for (let at = 0; at < 2 * cells.length; at += 1) {
      const { id } = await wideClient(0).responses.create({ model: 'simulator', input: 'Still there?' });
      expect(cellOf(id)).not.toBe(lost);
    }
    for (const url of [...service().apiUrls, ...service().workers.map(({ healthUrl }) => healthUrl)])
      expect((await fetch(`${url}/readyz`)).status).toBe(200);

    const overview = await fetch(`${service().adminUrls[0]}/admin/v1/overview`);
    expect(await overview.json()).toMatchObject({ redis: { cells_away: [lost] } });

    stores[cells.indexOf(lost)] = await startStore({ port: store.port, directory: store.directory });
    for (const [nth, { id }] of running.entries()) {
      const ended = await eventually(async () => {
        const read = await clientOf(bound[nth] ?? 0).responses.retrieve(id);
        return read.status !== 'queued' && read.status !== 'in_progress' && read;
      });
      expect(ended.status).toBe('completed');
    }
    // The api that came without the first cell knows now what that has.
    await eventually(async () => {
      const headers = { 'idempotency-key': `behind-${lost}` };
      const { status } = await late.responses.create({ model: 'simulator', input: 'Hi' }, { headers });
      return status === 'completed';
    });
    for (const at of bound) expect((await create(at)).status).toBe('completed');
  });
});
