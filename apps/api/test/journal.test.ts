import { eventually, latch, startLocalRedis, startRedisProxy, testRedis, within } from '@sluice/testing';
import type { ResponseDetail, ResponseRow, ResponseRows } from '@sluice/contract/admin';
import { journalKey, JournalWriter, subjectOfResponse } from '@sluice/journal';
import { ResponseIndex } from '@sluice/operator';
import { afterEach, describe, expect, it } from 'vitest';
import { adminAppOf, operatorOf } from './test-admin.ts';
import { apiKeys, startTestApi, type TestApi, type TestApiOptions } from './test-api.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function start(options: TestApiOptions = {}): Promise<TestApi> {
  const api = await startTestApi(options);
  closing.push(() => api.stop());
  return api;
}

/** The admin listener of an api, over an index of its own if one is given. */
async function adminOf(api: TestApi, index: ResponseIndex = api.operator.index) {
  const admin = await adminAppOf(api, { operator: operatorOf(api, { index }) });
  closing.push(() => admin.close());
  const get = async (path: string) => {
    const answer = await admin.inject({ url: `/admin/v1${path}`, headers: { host: 'localhost' } });
    return { status: answer.statusCode, body: answer.json<unknown>() };
  };
  return {
    admin,
    get,
    list: async (query = '') => (await get(`/responses${query}`)).body as ResponseRows,
    detail: async (id: string) => (await get(`/responses/${id}`)).body as ResponseDetail,
    /** The rows once there are so many that have ended. */
    ended: async (count: number, query = ''): Promise<ResponseRow[]> =>
      eventually(async () => {
        const { data } = (await get(`/responses${query}`)).body as ResponseRows;
        return data.filter((row) => row.ended_at !== null).length === count && data;
      }),
  };
}

const body = { model: 'm', input: 'Hello' };
const idOf = (answer: { json: () => Record<string, unknown> }) => String(answer.json()['id']);

describe('the list of responses over all tenants', () => {
  it('has what was created in each mode, whoever asked for it, and tells how it went', async () => {
    const api = await start();
    const { ended, list, get } = await adminOf(api);
    const whole = idOf(await api.create({ ...body, metadata: { job: 'seven' } }));
    await (await api.stream({ ...body, model: 'other' }, { key: apiKeys.second })).text();
    const background = idOf(await api.create({ ...body, background: true }));
    const rows = await ended(3);
    expect(rows.map(({ mode, tenant, model, status }) => [mode, tenant, model, status])).toEqual([
      ['background', 'first', 'm', 'completed'],
      ['stream', 'second', 'other', 'completed'],
      ['whole', 'first', 'm', 'completed'],
    ]);
    expect(rows[0]?.id).toBe(background);
    expect(rows[2]).toMatchObject({
      id: whole,
      attempts: 1,
      input_tokens: 3,
      output_tokens: 2,
      tier: 'default',
    });
    for (const {
      accepted_at: accepted,
      started_at: started,
      first_output_at: first,
      ended_at: end,
    } of rows) {
      const times = [accepted, started, first, end].map(Number);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
    }
    expect((await list('?metadata=job:seven')).data.map(({ id }) => id)).toEqual([whole]);
    expect((await list('?metadata=job:eight')).total).toBe(0);
    expect((await list('?tenant=second&tenant=nobody')).total).toBe(1);
    expect(await list('?limit=2')).toMatchObject({
      has_more: true,
      total: 3,
      index: { state: 'ready', size: 3 },
    });
    expect((await get('/responses/facets?field=tenant&prefix=f')).body).toMatchObject({
      fields: { tenant: [{ value: 'first', count: 2 }] },
    });
  });

  it('is the same at every api process', async () => {
    const api = await start();
    const other = new ResponseIndex({
      ...{ redisUrl: () => api.redis.url, keyPrefix: api.settings.keyPrefix, settings: api.settings.console },
      onError: () => undefined,
    });
    closing.push(() => other.stop());
    const [here, there] = [await adminOf(api), await adminOf(api, other)];
    let created = 0;
    for (const count of [5, 6]) {
      for (; created < count; created += 1) await api.create(body);
      // What the api and the worker tell of one response is read at different moments.
      await eventually(async () => expect(await there.ended(count)).toEqual(await here.ended(count)));
    }
  });

  it('has every end that an api writes without a worker', async () => {
    const api = await start({ withoutWorker: true, syncWaitMs: 300 });
    const { ended } = await adminOf(api);
    const asked = idOf(await api.create({ ...body, background: true }));
    await api.create(undefined, { path: `/responses/${asked}/cancel` });
    const deleted = idOf(await api.create({ ...body, background: true }));
    await api.fetch(`/v1/responses/${deleted}`, { method: 'DELETE' });
    expect((await api.create(body)).status).toBe(504);
    const left = new AbortController();
    const stream = await api.stream(body, { signal: left.signal });
    left.abort();
    await stream.text().catch(() => undefined);
    const rows = await ended(4);
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['cancelled']));
    expect(rows.every(({ started_at: at }) => at === null)).toBe(true);
  });

  it('says of each filter that cannot be what is wrong with it', async () => {
    const api = await start({ withoutWorker: true });
    const { get } = await adminOf(api);
    const cases: [string, string][] = [
      ['status=lost', 'status[0]'],
      ['status=queued&status=', 'status[1]'],
      ['tier=fast', 'tier[0]'],
      ['mode=x', 'mode[0]'],
      ['from=yesterday', 'from'],
      ['from=-1', 'from'],
      ['to=1.5', 'to'],
      ['from=1&from=2', 'from'],
      ['id=%00', 'id'],
      ['id=a&id=b', 'id'],
      [`tenant=${'t'.repeat(300)}`, 'tenant[0]'],
      [Array.from({ length: 80 }, (_, at) => `model=${at}`).join('&'), 'model'],
      ['metadata=job', 'metadata[0]'],
      ['limit=0', 'limit'],
      ['limit=201', 'limit'],
      ['limit=many', 'limit'],
      ['after=1', 'after'],
      ['after=', 'after'],
      ['anything=1', 'anything'],
      ['__proto__=1', '__proto__'],
    ];
    for (const [query, param] of cases) {
      const { status, body: refused } = await get(`/responses?${query}`);
      expect([query, status, refused]).toMatchObject([query, 400, { error: { param } }]);
    }
    expect(await get('/responses/facets?field=input')).toMatchObject({ status: 400 });
    expect(await get('/responses/events?after=1')).toMatchObject({ status: 400 });
    expect(await get('/responses/elsewhere')).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
    expect(await get(`/responses/create-response_0${'a'.repeat(31)}`)).toMatchObject({ status: 404 });
  });

  it('is kept by a thread that runs while somebody asks, and not for long after that', async () => {
    const api = await start({ withoutWorker: true });
    const index = new ResponseIndex({
      ...{ redisUrl: () => api.redis.url, keyPrefix: api.settings.keyPrefix, settings: api.settings.console },
      ...{ idleMs: 50, onError: () => undefined },
    });
    closing.push(() => index.stop());
    expect(index.isRunning).toBe(false);
    const left = new AbortController();
    const following = latch<number>();
    index.follow(
      {},
      { signal: left.signal, onNews: ({ total }) => following.open(total), onEnd: () => undefined },
    );
    expect(await following.wait()).toBe(0);
    // It has been idle for longer than it may by now, but for the one who follows.
    await index.query({}, { limit: 1 });
    expect(index.isRunning).toBe(true);
    left.abort();
    await eventually(() => !index.isRunning);
    await api.create({ ...body, background: true });
    await eventually(async () => (await index.query({}, { limit: 1 })).answer.total === 1);
  });

  it('gives the ids of all that match, as they are at one moment', async () => {
    const api = await start({ withoutWorker: true });
    const created: string[] = [];
    for (let at = 0; at < 7; at += 1) created.push(idOf(await api.create({ ...body, background: true })));
    await eventually(async () => (await api.operator.index.count({ status: ['queued'] })) === 7);
    const pages: string[][] = [];
    for await (const page of api.operator.index.ids({ status: ['queued'] })) pages.push(page);
    expect(pages).toEqual([created.toReversed()]);
    expect(await api.operator.index.count({ tenant: ['nobody'] })).toBe(0);
  });
});

describe('rows that change', () => {
  async function follow(api: TestApi, query: string) {
    const { admin } = await adminOf(api);
    const url = await admin.listen({ host: '127.0.0.1', port: 0 });
    const left = new AbortController();
    closing.push(() => Promise.resolve(left.abort()));
    const answer = await fetch(`${url}/admin/v1/responses/events${query}`, { signal: left.signal });
    const events: { rows: ResponseRow[]; gone?: string[]; total: number }[] = [];
    const read = async () => {
      let text = '';
      for await (const bytes of answer.body ?? []) {
        text += new TextDecoder().decode(bytes as Uint8Array);
        const whole = text.split('\n\n');
        text = whole.pop() ?? '';
        for (const each of whole) {
          const data = /^event: rows\ndata: (.*)$/m.exec(each)?.[1];
          if (data !== undefined) events.push(JSON.parse(data) as (typeof events)[number]);
        }
      }
    };
    read().catch(() => undefined); // It ends with the test.
    await eventually(() => events.length === 1);
    return { events, left };
  }

  it('are told to who follows, and so are those that match no longer', async () => {
    const api = await start();
    const { goOn } = api.worker.hold();
    const { events } = await follow(api, '?status=queued&status=in_progress');
    expect(events[0]).toEqual({ rows: [], gone: [], total: 0 });
    const id = idOf(await api.create({ ...body, background: true }));
    await eventually(() => events.some(({ rows }) => rows.some((row) => row.status === 'in_progress')));
    expect(events.at(-1)?.total).toBe(1);
    goOn.open();
    await eventually(() => events.some(({ gone }) => gone?.includes(id)));
    expect(events.at(-1)?.total).toBe(0);
  });

  it('are gathered, so that a burst is a few events', async () => {
    const api = await start({ withoutWorker: true });
    const { events } = await follow(api, '');
    await Promise.all(Array.from({ length: 60 }, () => api.create({ ...body, background: true })));
    await eventually(() => events.at(-1)?.total === 60);
    const rows = events.flatMap((event) => event.rows);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(60);
    expect(events.length).toBeLessThan(30);
  });
});

describe('a response in detail', () => {
  it('tells the story without its content', async () => {
    const api = await start();
    const { ended, detail } = await adminOf(api);
    const secret = 'a-secret-of-the-prompt';
    const id = idOf(
      await api.create({
        ...{ model: 'm', input: secret, instructions: secret, temperature: 0.5, metadata: { job: '7' } },
        tools: [{ type: 'function', name: secret, parameters: {} }],
      }),
    );
    await ended(1);
    const told = await detail(id);
    expect(told).toMatchObject({
      row: { id, status: 'completed' },
      is_kept: true,
      metadata: { job: '7' },
      parameters: { model: 'm', temperature: 0.5, tools: ['function'] },
      attempts: [{ attempt: 1, provider: 'scripted', outcome: 'ended' }],
      usage: { total_tokens: 5 },
      error: null,
      events: { is_kept: true },
    });
    const phases = told.phases.map(({ kind }) => kind);
    // One that was over within a millisecond is none.
    const { accepted_at: accepted, started_at: started, first_output_at: first, ended_at: end } = told.row;
    expect(phases.includes('waiting')).toBe(Number(started) > accepted);
    expect(phases.includes('generating')).toBe(Number(end) > Number(first));
    expect(told.journal.map(({ what }) => what)).toEqual([
      'accepted',
      'claimed',
      'called',
      'first_output',
      'ended',
    ]);
    expect(JSON.stringify(told)).not.toContain(secret);
    expect(JSON.stringify(told)).not.toContain('Hello');
  });

  it('says that a response waits in the line of its tenant, and where one stands in its queue', async () => {
    const api = await start();
    const { detail } = await adminOf(api);
    const { goOn } = api.worker.hold();
    const ids: string[] = [];
    for (let at = 0; at < 3; at += 1) {
      ids.push(idOf(await api.create({ ...body, background: true }, { key: apiKeys.crowded })));
    }
    const [, , third = ''] = ids;
    await eventually(async () => {
      const { phases } = await detail(third);
      expect(phases.at(-1)).toMatchObject({ kind: 'waiting', because: 'tenant_full', to: null });
      return true;
    });
    goOn.open();
    await eventually(async () => {
      const { journal, phases } = await detail(third);
      expect(journal.map(({ what }) => what)).toEqual(expect.arrayContaining(['let_in', 'claimed', 'ended']));
      expect(phases[0]).toMatchObject({ kind: 'waiting', because: 'tenant_full' });
      return true;
    });
  });

  it('outlives the record, as far as the journal tells it', async () => {
    const api = await start();
    const { ended, detail } = await adminOf(api);
    const id = idOf(await api.create(body));
    await ended(1);
    await api.redis.client.del(api.keys.record(id));
    expect(await detail(id)).toMatchObject({
      is_kept: false,
      row: { id, status: 'completed' },
      parameters: {},
    });
  });
});

describe('what the journal was never told', () => {
  /** Puts lines into the journal as a process does that dies right behind them. */
  async function told(api: TestApi, responseId: string): Promise<void> {
    const writer = new JournalWriter({
      ...{ connection: api.redis.client, keyPrefix: api.keys.prefix, keep: 1000 },
    });
    const of = { tenant: 'first', model: 'm', tier: 'default', mode: 'whole', requestId: 'req', digests: '' };
    writer.write(subjectOfResponse(responseId), { what: 'accepted', at: 1_000, isInLine: false, ...of });
    await writer.stop();
  }

  /** An api that keeps no journal itself, and an index over the one there is. */
  async function silentApi(options: TestApiOptions = {}) {
    const api = await start({ ...options, journal: false });
    const index = new ResponseIndex({
      ...{ redisUrl: () => api.redis.url, keyPrefix: api.settings.keyPrefix },
      settings: { journal: true, keep: 1000 },
      healEveryMs: 50,
      onError: () => undefined,
    });
    closing.push(() => index.stop());
    return { api, ...(await adminOf(api, index)) };
  }

  it('is read from the record: an end whose worker died before it said so', async () => {
    const { api, list } = await silentApi();
    const id = idOf(await api.create(body));
    await told(api, id);
    await eventually(async () => (await list()).data[0]?.status === 'completed');
    expect((await list()).data).toMatchObject([
      { id, tenant: 'first', input_tokens: 3, output_tokens: 2, attempts: 1 },
    ]);
  });

  it('is read from the record: a response that is open and that nobody has told of', async () => {
    const { api, list } = await silentApi({ withoutWorker: true });
    const id = idOf(await api.create({ ...body, background: true }));
    await eventually(async () => (await list()).total === 1);
    expect((await list()).data).toMatchObject([{ id, status: 'queued', mode: 'background', model: 'm' }]);
  });

  it('is said to be unknown: the end of a response whose record is gone', async () => {
    const { api, list } = await silentApi();
    const id = `create-response_0${'a'.repeat(31)}`;
    await told(api, id);
    await eventually(async () => (await list()).data[0]?.error_code === 'end_unknown');
    expect((await list()).data).toMatchObject([{ id, status: 'incomplete', ended_at: null }]);
  });

  it('is nothing of a response that goes on', async () => {
    const { api, list } = await silentApi({ withoutWorker: true });
    const id = idOf(await api.create({ ...body, background: true }));
    await told(api, id);
    await eventually(async () => (await list()).total === 1);
    const other = idOf(await api.create({ ...body, background: true }));
    // Found by a round behind the one that looked at the first.
    await eventually(async () => (await list(`?id=${other}`)).total === 1);
    expect((await list(`?id=${id}`)).data).toMatchObject([{ status: 'queued', error_code: null }]);
  });
});

describe('while Redis is silent', () => {
  async function overProxy() {
    const redis = await testRedis();
    const proxy = await startRedisProxy(redis.url);
    closing.push(
      () => proxy.stop(),
      () => redis.close(),
    );
    const api = await start({ commandsUrl: proxy.url });
    return { api, proxy, ...(await adminOf(api)) };
  }

  it('the list is refused soon when nothing of it was read yet, and answers when Redis is back', async () => {
    const { api, proxy, get, list } = await overProxy();
    await api.create(body);
    proxy.silence();
    expect(await within(get('/responses'))).toMatchObject({
      status: 503,
      body: { error: { code: 'server_is_overloaded' } },
    });
    proxy.speak();
    await eventually(async () => (await list()).total === 1);
  });

  it('the list says what it knows and that it is old, and goes on when Redis is back', async () => {
    const { api, proxy, list, ended, get } = await overProxy();
    const id = idOf(await api.create(body));
    await ended(1);
    proxy.silence();
    await eventually(async () => (await list()).index.state === 'unavailable');
    expect((await list()).total).toBe(1);
    expect(await get(`/responses/${id}`)).toMatchObject({ status: 503 });
    await expect(api.operator.index.count({})).rejects.toMatchObject({ code: 'server_is_overloaded' });
    proxy.speak();
    await eventually(async () => (await list()).index.state === 'ready');
    await eventually(async () => (await api.create(body)).status === 200);
    await ended(2);
  });
});

describe('what the journal costs', () => {
  it('is one XADD of the api and one or two of the worker for a response that is answered at once', async () => {
    const own = await startLocalRedis();
    closing.push(() => own.stop());
    const calls = async (api: TestApi) => {
      const text = await api.redis.client.info('commandstats');
      return Number(/cmdstat_xadd:calls=(\d+)/.exec(text)?.[1] ?? 0);
    };
    const spent = async (journal: boolean) => {
      const api = await start({ redisUrl: own.url, journal });
      await api.create(body);
      const before = await calls(api);
      for (let at = 0; at < 10; at += 1) await api.create(body);
      const kept = async () => api.redis.client.xlen(journalKey(api.keys.prefix));
      if (journal) await eventually(async () => (await kept()) >= 22);
      return { calls: (await calls(api)) - before, kept: await kept() };
    };
    const [without, with_] = [await spent(false), await spent(true)];
    expect(without.kept).toBe(0);
    expect(with_.calls - without.calls).toBeGreaterThanOrEqual(20);
    expect(with_.calls - without.calls).toBeLessThanOrEqual(33);
  });

  it('is nothing when it is switched off: nothing is written, and the detail is that of the record', async () => {
    const api = await start({ journal: false });
    const { list, detail, get } = await adminOf(api);
    const id = idOf(await api.create(body));
    expect(await list()).toEqual({
      ...{ object: 'list', data: [], has_more: false, next: null, total: 0 },
      index: { state: 'off', loaded_percent: 0, size: 0 },
    });
    expect((await get('/responses/facets')).body).toMatchObject({ fields: {}, index: { state: 'off' } });
    expect((await get('/session')).body).toMatchObject({ journal: false });
    expect(await detail(id)).toMatchObject({
      row: { id, status: 'completed', input_tokens: 3 },
      phases: [{ kind: 'waiting', because: null }, { kind: 'generating' }],
      attempts: [],
      journal: [],
    });
    expect(await api.redis.client.exists(journalKey(api.keys.prefix))).toBe(0);
  });
});
