import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { forAllTests, eventually } from '@sluice/testing';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { lineOf, started } from './batch-client.ts';
import { testService } from './service.ts';

const actionToken = 'act-0123456789abcdef';
const testerKey = `sk-test-${'t'.repeat(32)}`;
const spenderKey = `sk-test-${'s'.repeat(32)}`;

let client: OpenAI;
/** What arrived, by path. */
const received = new Map<string, { body: string; headers: IncomingMessage['headers'] }[]>();
/** What the receiver answers next, by path; 204 behind that. */
const answers = new Map<string, number[]>();

const receiver = forAllTests(async () => {
  const server = createServer((request, reply) => {
    const path = request.url ?? '';
    void text(request).then((body) => {
      received.set(path, [...(received.get(path) ?? []), { body, headers: request.headers }]);
      reply.writeHead(answers.get(path)?.shift() ?? 204).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
});
const service = testService(() => ({
  env: { ADMIN_ACTION_TOKEN: actionToken },
  apis: 2,
  workers: 2,
  settings: {
    webhooks: { allowPrivateNetworks: true },
    providers: [{ id: 'simulator', type: 'simulator' }],
    models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    files: { enabled: true },
    keys: [
      { name: 'tester', key: testerKey },
      { name: 'spender', key: spenderKey, limits: { tokensPerDay: 1_000 } },
    ],
  },
}));
beforeAll(() => {
  client = clientOf(0);
});

function clientOf(api: number, apiKey = testerKey): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${service.apiUrls[api]}/v1`, maxRetries: 0 });
}

function urlOf(path: string): string {
  const { port } = receiver.address() as AddressInfo; // It listens on a port.
  return `http://127.0.0.1:${port}${path}`;
}

function anEndpoint(path: string, event_types: OpenAI.Webhooks.WebhookCreateParams['event_types']) {
  return client.webhooks.create({ name: path, url: urlOf(path), event_types });
}

const command = (...args: string[]) => service.run('webhooks', ...args);

const inBackground = { model: 'simulator', input: 'Hello!', background: true } as const;
const at = (path: string) => received.get(path) ?? [];

describe('webhooks, by the official client', () => {
  it('tell of the end of a batch', async () => {
    const { signing_secret: secret } = await anEndpoint('/batches', ['batch.completed', 'batch.failed']);
    const right = await started(client, [lineOf('one', { model: 'simulator', input: 'Hi' })]);
    const wrong = await started(client, [lineOf('one', { model: 'unknown', input: 'Hi' })]);
    await eventually(() => at('/batches').length === 2);
    const events = await Promise.all(
      at('/batches').map(async ({ body, headers }) => client.webhooks.unwrap(body, headers, secret)),
    );
    const told = new Map<string, string>(events.map(({ type, data }) => [type, 'id' in data ? data.id : '']));
    expect(told).toEqual(
      new Map([
        ['batch.completed', right.id],
        ['batch.failed', wrong.id],
      ]),
    );
  });

  it('tell the address that a request names, at the origin of an endpoint and signed by its secret', async () => {
    const { id, signing_secret: secret } = await anEndpoint('/origin', ['response.completed']);
    answers.set('/jobs/2', [410]);
    const ask = (webhook_url: string, more: object = {}) =>
      client.responses.create({ ...inBackground, ...more, webhook_url } as typeof inBackground);
    const named = await ask(urlOf('/jobs/1?a=b'));
    await ask(urlOf('/jobs/2'));
    const failing = await ask(urlOf('/jobs/3'), { input: 'Hi [[sluice: fail=model_error]]' });
    await eventually(() => ['/jobs/1?a=b', '/jobs/2', '/jobs/3'].every((path) => at(path).length === 1));
    const [first] = at('/jobs/1?a=b');
    const event = await client.webhooks.unwrap(first?.body ?? '', first?.headers ?? {}, secret);
    expect(event).toMatchObject({ type: 'response.completed', data: { id: named.id } });
    expect(JSON.parse(at('/jobs/3')[0]?.body ?? '')).toMatchObject({
      type: 'response.failed', // of which the endpoint itself wants to know nothing
      data: { id: failing.id },
    });
    // A 410 of one address switches nothing off.
    const { id: next } = await client.responses.create(inBackground);
    await eventually(() => at('/origin').length === 1);
    expect(JSON.parse(at('/origin')[0]?.body ?? '')).toMatchObject({ data: { id: next } });
    expect(JSON.stringify(await client.responses.retrieve(named.id))).not.toContain('/jobs/');
    await client.webhooks.delete(id);
  });

  it.each([
    ['http://127.0.0.1:1/jobs', {}, 'one of your webhook endpoints'],
    ['ftp://127.0.0.1/jobs', {}, 'https'],
    ['jobs', {}, 'absolute'],
    ['http://user@127.0.0.1/jobs', {}, 'user'],
    ['http://127.0.0.1:1/jobs', { background: false }, 'background'],
  ])('refuse %s as the address of one response', async (webhook_url, more, reason) => {
    await expect(
      client.responses.create({ ...inBackground, ...more, webhook_url } as typeof inBackground),
    ).rejects.toMatchObject({ status: 400, param: 'webhook_url', message: expect.stringContaining(reason) });
  });

  it('tell once that most of a budget is used up', async () => {
    const spender = clientOf(0, spenderKey);
    await spender.webhooks.create({
      name: 'budget',
      url: urlOf('/budget'),
      // An addition of this service.
      event_types: ['budget.warning'] as unknown as OpenAI.Webhooks.WebhookCreateParams['event_types'],
    });
    const ask = (max_output_tokens: number) =>
      spender.responses.create({ ...inBackground, max_output_tokens, input: 'Hi [[sluice: hang]]' });
    const open = [await ask(700), await ask(150)];
    await eventually(() => at('/budget').length === 1);
    expect(JSON.parse(at('/budget')[0]?.body ?? '')).toMatchObject({
      type: 'budget.warning',
      data: { id: 'tokens_per_day', api_key_id: null, limit: 1_000, used: expect.any(Number) },
    });
    await expect(ask(700)).rejects.toMatchObject({ status: 429, code: 'insufficient_quota' });
    for (const { id } of open) await spender.responses.cancel(id);
    expect(at('/budget')).toHaveLength(1);
  });

  it('tell of an end that the client verifies', async () => {
    const { signing_secret: secret } = await anEndpoint('/completed', ['response.completed']);
    const { id } = await client.responses.create(inBackground);
    await eventually(() => expect(at('/completed')).toHaveLength(1));
    const [{ body, headers } = { body: '', headers: {} }] = at('/completed');
    const event = await client.webhooks.unwrap(body, headers, secret);
    expect(event).toMatchObject({ object: 'event', type: 'response.completed', data: { id } });
    const forged = client.webhooks.unwrap(body.replace(id, 'other'), headers, secret);
    await expect(forged).rejects.toThrow();
  });

  it('tell of a cancellation, and nothing of a response that its caller waited for', async () => {
    await anEndpoint('/all', ['response.completed', 'response.cancelled']);
    await client.responses.create({ model: 'simulator', input: 'Hello!' });
    const { id } = await client.responses.create({
      ...inBackground,
      input: 'Hi. [[sluice: first_token_ms=600000]]',
    });
    await client.responses.cancel(id);
    await eventually(() => expect(at('/all')).toHaveLength(1));
    expect(JSON.parse(at('/all')[0]?.body ?? '')).toMatchObject({ type: 'response.cancelled', data: { id } });
  });

  it('come again after a failure, with the same id', async () => {
    answers.set('/failing', [500]);
    await anEndpoint('/failing', ['response.completed']);
    await client.responses.create(inBackground);
    await eventually(() => expect(at('/failing')).toHaveLength(2), { timeoutMs: 60_000 });
    const ids = at('/failing').map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
  });

  it('tell of every end once, whichever process dies', async () => {
    await anEndpoint('/killed', ['response.completed']);
    const clients = [clientOf(0), clientOf(1)];
    const created = await Promise.all(
      Array.from({ length: 40 }, (_, turn) => (clients[turn % 2] ?? client).responses.create(inBackground)),
    );
    await service.workers[0]?.kill();
    await service.addWorker();
    const told = () =>
      at('/killed').map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id);
    await eventually(() => expect(new Set(told())).toEqual(new Set(created.map(({ id }) => id))), {
      timeoutMs: 60_000,
    });
  });

  it('can be listed, changed, tried and taken away', async () => {
    const { id } = await anEndpoint('/managed', ['response.failed']);
    const listed = [];
    for await (const each of client.webhooks.list({ limit: 2 })) listed.push(each.id);
    expect(listed).toContain(id);
    expect(await client.webhooks.update(id, { name: 'other' })).toMatchObject({ id, name: 'other' });
    const rotated = await client.webhooks.rotateSecret(id, { keep_old_secret_active_for_24_hours: true });
    expect(rotated.signing_secret).toMatch(/^whsec_/);
    expect(await client.webhooks.test(id, { event_type: 'response.failed' })).toMatchObject({
      object: 'webhook_endpoint.test',
      status_code: 204,
      success: true,
    });
    expect(await client.webhooks.delete(id)).toMatchObject({ id, deleted: true });
    await expect(client.webhooks.retrieve(id)).rejects.toMatchObject({ status: 404 });
    expect((await client.webhooks.eventTypes.list()).data).toContain('response.completed');
  });

  it('are shown to operators, and sent again by them', async () => {
    const endpoint = await anEndpoint('/operators', ['response.completed']);
    const { id } = await client.responses.create(inBackground);
    const admin = async (below: string, method = 'GET') => {
      const answer = await fetch(`${service.adminUrls[1]}/admin/v1/webhooks/deliveries${below}`, {
        method,
        headers: { 'sluice-action-token': actionToken },
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const list = async (query: string) => {
      const { body } = await admin(query);
      return body['data'] as { id: string; subject: string; endpoint: string }[];
    };
    const own = async () => {
      const rows = await list('?tenant=tester&state=delivered&state=failed');
      return rows.find((row) => row.subject === id && row.endpoint === endpoint.id);
    };
    const told = () => at('/operators').filter(({ body }) => body.includes(id)).length;
    const delivery = await eventually(own);
    expect(told()).toBe(1);
    expect(delivery).toMatchObject({
      tenant: 'tester',
      event: 'response.completed',
      state: 'delivered',
      tries: 1,
    });
    expect(await list('?tenant=nobody')).toEqual([]);
    expect(await list('?tenant=nobody&tenant=tester')).toContainEqual(delivery);
    const sent = await admin(`/${delivery.id}/send`, 'POST');
    expect(sent).toMatchObject({ status: 200, body: { object: 'sent_delivery', id: delivery.id } });
    await eventually(() => told() === 2);
    expect(await admin('/evt_none/send', 'POST')).toMatchObject({ status: 404 });
    expect(await admin('?state=lost')).toMatchObject({ status: 400, body: { error: { param: 'state[0]' } } });
    const audit = await fetch(`${service.adminUrls[0]}/admin/v1/audit`);
    expect(await audit.text()).toContain('delivery.send');
  });

  it('are shown by the command, and sent again', async () => {
    answers.set('/again', [410]);
    const { id: endpoint } = await anEndpoint('/again', ['response.completed']);
    const { id } = await client.responses.create(inBackground);
    const rows = async (...flags: string[]) =>
      (await command('list', '--json', ...flags)).output
        .trim()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as { id: string; endpoint: string; subject: string })
        .filter((row) => row.endpoint === endpoint);
    await eventually(async () => (await rows('--state', 'failed', '--tenant', 'tester')).length === 1);
    const [row] = await rows();
    expect(row).toMatchObject({
      subject: id,
      state: 'failed',
      tries: 1,
      note: expect.stringContaining('410'),
    });
    // Another URL switches the endpoint on.
    await client.webhooks.update(endpoint, { url: urlOf('/again/new') });
    expect(await command('send', row?.id ?? '')).toMatchObject({ code: 0 });
    await eventually(() => at('/again/new').length === 1);
    expect((await command('send', 'nope')).output).toContain("There is no delivery 'nope'");
    expect((await command('list', '--state', 'lost')).output).toContain('is none of waiting, active');
    expect((await command('list')).output).toMatch(/added +tenant +event[\s\S]*response\.completed/);
  });

  it.each([
    [{ name: 'x', url: 'not a url', event_types: ['response.completed'] }, 'invalid_value', 'url'],
    [{ name: 'x', url: 'ftp://example.com/', event_types: ['response.completed'] }, 'invalid_value', 'url'],
    [{ name: '', url: 'https://example.com/', event_types: ['response.completed'] }, 'invalid_value', 'name'],
    [{ name: 'x', url: 'https://example.com/', event_types: [] }, 'empty_array', 'event_types'],
    [
      { name: 'x', url: 'https://example.com/', event_types: ['video.completed'] },
      'invalid_value',
      'event_types[0]',
    ],
    [
      { url: 'https://example.com/', event_types: ['response.completed'] },
      'missing_required_parameter',
      'name',
    ],
  ])('refuse %j by name', async (body, code, param) => {
    const made = client.webhooks.create(body as OpenAI.Webhooks.WebhookCreateParams);
    await expect(made).rejects.toMatchObject({ status: 400, code, param });
  });
});
