import type { FastifyInstance } from 'fastify';
import { forEachOnWire } from '@sluice/contract/tenant-limits';
import { tenantListSchema } from '@sluice/contract/admin';
import { queueName } from '@sluice/queue';
import { eventually } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model, type TestApi } from './test-api.ts';
import { adminAppOf } from './test-admin.ts';

const token = 'admin-token-of-the-test';

const api = eachTestApi();
let admin: FastifyInstance;

beforeEach(() => build());
afterEach(() => admin.close());

interface BuildOptions {
  withToken?: boolean;
  models?: TestApi['settings']['models'];
}

async function build(options: BuildOptions = {}): Promise<void> {
  const models = options.models ?? api.settings.models;
  admin = await adminAppOf(api, {
    models: {
      queueLimits: new Map(models.map(({ queue, concurrency }) => [queueName(queue), concurrency])),
    },
    settings: {
      models,
      workerConcurrency: 2,
      console: api.settings.console,
    },
    token: options.withToken ? token : undefined,
  });
}

async function rebuild(options: BuildOptions): Promise<void> {
  await admin.close();
  await build(options);
}

const paths = [
  '/',
  '/metrics',
  '/scale',
  '/queues',
  '/queues/',
  '/queues/api/queues',
  '/queues/static/js/main.js',
  '/nope',
];

const asked = async (url: string, headers: Record<string, string> = {}) =>
  (await admin.inject({ url, headers })).statusCode;

describe('the admin listener without a token', () => {
  it.each(['localhost', 'localhost:3001', '127.0.0.1:3001', '127.8.9.1', '[::1]:3001'])(
    'answers whoever names it %s',
    async (host) => {
      expect(await asked('/metrics', { host })).toBe(200);
    },
  );

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:3001',
    '10.0.0.1',
    '0.0.0.0:3001',
    'localhost:3001@evil.example',
  ])('refuses whoever names it "%s", everywhere', async (host) => {
    for (const path of paths) expect(await asked(path, { host })).toBe(403);
  });
});

describe('the admin listener with a token', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  it.each([`Bearer ${token}`, `bearer ${token}`, basic(`admin:${token}`), basic(`:${token}`)])(
    'answers %s under any name',
    async (authorization) => {
      await rebuild({ withToken: true });
      expect(await asked('/metrics', { authorization, host: 'sluice.example' })).toBe(200);
    },
  );

  it.each([
    '',
    'Bearer',
    'Bearer ',
    'Bearer wrong',
    `Bearer ${token}x`,
    token,
    `Digest ${token}`,
    basic('admin:wrong'),
    basic(`${token}:`),
  ])('refuses "%s", everywhere', async (authorization) => {
    await rebuild({ withToken: true });
    for (const url of paths) {
      const answer = await admin.inject({ url, headers: { authorization } });
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
      expect(answer.body).not.toContain(token);
    }
  });
});

describe('the admin listener and wrong tokens', () => {
  it('holds their answers back, but neither the right one nor the challenge of a browser', async () => {
    await rebuild({ withToken: true });
    const wrong = { authorization: 'Bearer wrong' };
    for (let at = 0; at < 20; at++) expect(await asked('/queues', wrong)).toBe(401);
    const throttled = await admin.inject({ url: '/queues', headers: wrong });
    expect(throttled.statusCode).toBe(401);
    expect(Number(throttled.headers['retry-after'])).toBeGreaterThan(0);
    expect(throttled.headers['www-authenticate']).toMatch(/^Basic /);
    expect(await asked('/metrics', { authorization: `Bearer ${token}` })).toBe(200);
    expect(await asked('/queues')).toBe(401);
    const elsewhere = await admin.inject({ url: '/queues', headers: wrong, remoteAddress: '192.0.2.1' });
    expect(elsewhere.statusCode).toBe(401);
  });
});

describe('the admin listener', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const)('takes no %s', async (method) => {
    for (const url of ['/metrics', `/queues/api/queues/${model}/add`, `/queues/api/queues/${model}/pause`]) {
      const { statusCode } = await admin.inject({ method, url, payload: method === 'OPTIONS' ? '' : '{}' });
      expect(statusCode).toBe(405);
    }
    expect(await api.queue.counts(model)).toMatchObject({ waiting: 0, paused: 0 });
  });

  it('refuses what a page of another site asks for', async () => {
    for (const site of ['cross-site', 'same-site', 'anything']) {
      expect(await asked('/metrics', { 'sec-fetch-site': site })).toBe(403);
    }
    for (const site of ['same-origin', 'none']) {
      expect(await asked('/metrics', { 'sec-fetch-site': site })).toBe(200);
    }
  });

  it('lets nobody frame, sniff or store its pages', async () => {
    for (const url of paths) {
      const { headers } = await admin.inject({ url });
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'content-security-policy': expect.stringMatching(/default-src 'self'.*frame-ancestors 'none'/),
        'cache-control': 'no-store',
      });
    }
  });

  it('leads to the console', async () => {
    expect((await admin.inject({ url: '/' })).headers.location).toBe('/console');
  });
});

describe('a path that does not exist', () => {
  it('is answered with what there is', async () => {
    const { statusCode, body } = await admin.inject({ url: '/nope' });
    expect([statusCode, body]).toEqual([
      404,
      'Not here. There are /console, /queues, /metrics and /scale.\n',
    ]);
  });
});

describe('the metrics', () => {
  it('count requests, open ones and jobs, with labels of the operator alone', async () => {
    await api.create({ model, input: 'Hi' });
    await api.create({ model: 'model-of-a-client', input: 'Hi' });
    await api.get('/nowhere-in-particular');
    const text = await eventually(async () => {
      const { body } = await admin.inject({ url: '/metrics' });
      return body.includes('status="200"') && body;
    });
    for (const line of [
      /^sluice_http_requests_total\{route="\/v1\/responses",method="POST",status="200",role="api"\} 1$/m,
      /^sluice_http_requests_total\{route="\/v1\/responses",method="POST",status="400",role="api"\} 1$/m,
      /^sluice_http_request_duration_seconds_count\{role="api",route="\/v1\/responses"\} 2$/m,
      /^sluice_open_requests\{role="api"\} 0$/m,
      /^sluice_queue_jobs\{queue="vendor\/model",state="waiting",role="api"\} 0$/m,
      /^# TYPE sluice_time_to_first_token_seconds histogram$/m,
    ]) {
      expect(text).toMatch(line);
    }
    expect(text).not.toMatch(/model-of-a-client|nowhere-in-particular|create-response_/);
  });
});

describe('the dashboard', () => {
  it('loads, with everything it needs from here', async () => {
    const page = await admin.inject({ url: '/queues/' });
    expect(page.statusCode).toBe(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    const base = /<base href="([^"]+)"/.exec(page.body)?.[1];
    const assets = [...page.body.matchAll(/(?:src|href)="(static\/[^"]+\.(?:js|css))"/g)];
    expect(assets.length).toBeGreaterThan(0);
    for (const [, path] of assets) expect(await asked(`${base}${path}`)).toBe(200);
    expect(page.body).not.toMatch(/(?:src|href)="https?:/);
    // Nor is anything else fetched from elsewhere.
    expect(page.headers['content-security-policy']).not.toMatch(/https?:/);
  });

  it('shows the jobs of every queue, and never a prompt or an answer', async () => {
    const prompt = 'canary-of-a-prompt';
    const said = 'canary-of-an-answer';
    api.worker.onRun(async (run) => {
      run.say(said);
      if (api.worker.runs.length === 1) await run.complete();
      else await run.fail('model_error');
    });
    await api.create({ model, input: prompt, instructions: prompt, metadata: { prompt } });
    await api.create({ model, input: prompt });
    const first = api.worker.runs[0]?.record.id ?? '';
    const list = await eventually(async () => {
      const { body } = await admin.inject({
        url: `/queues/api/queues?activeQueue=${model}&status=latest&page=1&jobsPerPage=10`,
      });
      return body.includes(first) && body;
    });
    const queues = JSON.parse(list) as { queues: { name: string; readOnlyMode: boolean }[] };
    expect(queues.queues.map(({ name }) => name)).toEqual([
      model,
      'other',
      encodeURIComponent('vendor/model'),
      'counted',
      'small',
    ]);
    expect(queues.queues.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
    const job = await admin.inject({ url: `/queues/api/queues/${model}/${first}` });
    const logs = await admin.inject({ url: `/queues/api/queues/${model}/${first}/logs` });
    expect(job.statusCode).toBe(200);
    for (const text of [list, job.body, logs.body]) expect(text).not.toMatch(/canary/);
    // Nothing of it is in what the queue keeps, either.
    for (const key of await api.redis.client.keys(`${api.keys.prefix}bull:*${first}`)) {
      expect(JSON.stringify(await api.redis.client.hgetall(key))).not.toMatch(/canary/);
    }
  });
});

describe('the log of an api', () => {
  it('holds no prompt and no answer', async () => {
    api.worker.answer('canary-of-an-answer');
    await api.create({ model, input: 'canary-of-a-prompt' });
    await api.create('{"model":"m","input":"canary-of-a-prompt"');
    await api.create({ model, input: [{ role: 'canary-of-a-role', content: 'canary-of-a-prompt' }] });
    await eventually(() => api.logged.filter((line) => line.includes('answered')).length >= 3);
    expect(api.logged.filter((line) => line.includes('canary'))).toEqual([]);
  });
});

describe('what an autoscaler is told', () => {
  const scale = async (query = '') => {
    const answer = await admin.inject({ url: `/scale${query}`, headers: { host: 'localhost' } });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };

  it('is nothing to do where nothing waits', async () => {
    const idle = { needed_workers: 0, waiting: 0, active: 0, oldest_waiting_seconds: 0 };
    expect(await scale()).toEqual({ status: 200, body: idle });
    expect(await scale(`?model=${model}`)).toEqual({ status: 200, body: idle });
  });

  it('is how many workers would leave nothing waiting, and for how long the next one has waited', async () => {
    const name = queueName(model);
    await api.worker.stop();
    for (const id of ['first', 'second', 'third', 'fourth', 'fifth']) await api.queue.enqueue(name, id, 1);
    const job = await api.queue
      .forDashboard()
      .find((each) => each.name === name)
      ?.getJob('first');
    const { body } = await scale(`?model=${model}`);
    expect(body).toMatchObject({ needed_workers: 3, waiting: 5, active: 0 });
    const waitedMs = Date.now() - (job?.timestamp ?? 0);
    expect(Number(body['oldest_waiting_seconds']) * 1000).toBeLessThanOrEqual(waitedMs);
    expect(Number(body['oldest_waiting_seconds'])).toBeGreaterThan(0);
    expect((await scale()).body).toMatchObject({ needed_workers: 3, waiting: 5 });
    expect((await scale(`?model=${model}&slots=4`)).body).toMatchObject({ needed_workers: 2, waiting: 5 });
    expect((await scale('?slots=1')).body).toMatchObject({ needed_workers: 5, waiting: 5 });
  });

  it('is no more than the limit of the model allows, and nothing for a paused queue', async () => {
    await api.worker.stop();
    const name = queueName(model);
    for (const id of ['first', 'second', 'third']) await api.queue.enqueue(name, id, 1);
    const limited = api.settings.models.map((each) => ({ ...each, concurrency: 1 }));
    await rebuild({ models: limited });
    expect((await scale()).body).toMatchObject({ needed_workers: 1, waiting: 3 });
    for (const queue of api.queue.forDashboard()) await queue.pause();
    expect((await scale()).body).toMatchObject({ needed_workers: 0, waiting: 3 });
  });

  it('is refused for a model that nobody has', async () => {
    expect(await scale('?model=none')).toMatchObject({ status: 404, body: { error: expect.any(String) } });
  });

  it.each(['0', '-1', '1.5', 'many', '', '10001', '1&slots=2'])(
    'is refused for workers with %s slots',
    async (slots) => {
      const error = "'slots' must be a whole number from 1 to 10000";
      expect(await scale(`?slots=${slots}`)).toEqual({ status: 400, body: { error } });
    },
  );
});

describe('what an operator is told of tenants', () => {
  const tenants = async (query = '') => {
    const answer = await admin.inject({ url: `/admin/v1/tenants${query}`, headers: { host: 'localhost' } });
    const { data } = tenantListSchema.parse(answer.json());
    const one = (name: string) => data.find(({ tenant }) => tenant === name);
    return { text: answer.body, data, one };
  };
  const noLimits = {
    ...forEachOnWire(() => null),
    queued: 500,
    queued_bytes: 2_147_483_648,
    stored_bytes: 40,
    reads_per_minute: 60_000,
    cells: 1,
  };

  it('is what each of them may do, and no key', async () => {
    const { text, data, one } = await tenants();
    expect(data.map(({ tenant }) => tenant)).toEqual(Object.keys(apiKeys));
    expect(one('first')).toEqual({
      tenant: 'first',
      weight: 1,
      tiers: ['default', 'flex'],
      models: ['*'],
      limits: noLimits,
      use: {
        requests_in_minute: null,
        tokens_in_minute: null,
        tokens_in_day: null,
        tokens_in_month: null,
        spend_in_day: null,
        spend_in_month: null,
        waiting: 0,
        waiting_bytes: 0,
        stored_bytes: 0,
        running: null,
        in_line: null,
      },
      share: null,
      fair_share: null,
      keys: 1,
    });
    expect(one('narrow')).toMatchObject({ models: ['other'] });
    expect(one('disabled')).toMatchObject({ models: [], tiers: [] });
    expect(one('short')?.limits).toEqual({ ...noLimits, queued: 1 });
    expect(one('capped')?.limits).toEqual({ ...noLimits, max_output_tokens: 50, queued_bytes: 1024 });
    const hashes = api.settings.keys.map(({ hash }) => hash);
    for (const secret of [...Object.values(apiKeys), ...hashes]) expect(text).not.toContain(secret);
  });

  it('is what they use now', async () => {
    await api.create({ model, input: 'Hi' }, { key: apiKeys.limited });
    const { goOn } = api.worker.hold();
    const crowd = { model, input: 'Hi', background: true };
    for (let at = 0; at < 5; at += 1) await api.create(crowd, { key: apiKeys.crowded });
    await eventually(async () => (await tenants()).one('crowded')?.use.running === 2);
    const { one } = await tenants();
    expect(one('limited')?.use).toMatchObject({ requests_in_minute: 1, tokens_in_minute: null, waiting: 0 });
    expect(one('crowded')).toMatchObject({
      limits: { concurrent: 2 },
      use: { running: 2, in_line: 3, waiting: 3, waiting_bytes: 3 * 1024, stored_bytes: 5 * (1024 + 2048) },
    });
    goOn.open();
    await eventually(async () => (await tenants()).one('crowded')?.use.waiting === 0);
  });

  it('follows the keys in effect', async () => {
    const { keys, limits } = api.settings;
    const stored = keys
      .slice(0, 1)
      .map((key) => ({ ...key, name: 'later', hash: 'a'.repeat(64), weight: 3 }));
    expect((await tenants('?q=later')).data).toEqual([]);
    api.live.replace({ keys: [...keys, ...stored], limits });
    expect((await tenants('?q=later')).data).toMatchObject([{ tenant: 'later', weight: 3 }]);
  });
});
