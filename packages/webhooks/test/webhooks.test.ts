import { createHmac } from 'node:crypto';
import { eventually, latch, testRedis, type TestRedis } from '@sluice/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  defaultPausesMs,
  guardedLookup,
  openDeliveries,
  WebhookEndpoints,
  WebhookSender,
} from '../src/index.ts';
import { startReceiver } from './receiver.ts';

const tenant = 'team-a';
const eventTypes = ['response.completed' as const];
const aShortSchedule = [5, 5, 5];
const end = {
  id: 'create-response_1',
  tenant,
  type: 'response.completed' as const,
  at: 1_700_000_000_000,
};
const logger = pino({ enabled: false });

let redis: TestRedis;
const cleanups: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  redis = await testRedis();
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
  await redis.close();
});

type SenderOptions = Partial<ConstructorParameters<typeof WebhookSender>[0]>;

function common(allowPrivate = true) {
  return {
    connection: redis.client,
    keyPrefix: redis.prefix,
    allowPrivate,
    timeoutMs: 10_000,
    lockMs: 3_000,
    stalledMs: 100,
    lookup: guardedLookup({ allowPrivate }),
    userAgent: 'Sluice/test',
    now: Date.now,
  };
}

const endpoints = () => new WebhookEndpoints(common());
const anEndpoint = (url: string, name = 'mine') =>
  endpoints().create(tenant, { name, url, event_types: eventTypes });

function aSender(options: SenderOptions = {}) {
  const sender = new WebhookSender({
    ...common(),
    jobs: redis.connect(),
    logger,
    pausesMs: aShortSchedule,
    ...options,
  });
  sender.start();
  cleanups.push(() => sender.stop());
  return sender;
}

async function aReceiver(...answer: Parameters<typeof startReceiver>) {
  const receiver = await startReceiver(...answer);
  cleanups.push(() => receiver.close());
  return receiver;
}

async function deliveries() {
  const queue = openDeliveries({
    connection: redis.client,
    keyPrefix: redis.prefix,
    onError: () => undefined,
  });
  const found = await queue.list(['waiting', 'active', 'delivered', 'failed'], { limit: 100 });
  return found.map(({ state, tries, note }) => ({ state, tries, note }));
}

/** Waits until these are all the deliveries. */
const deliveriesAre = (...expected: object[]) =>
  eventually(async () => expect(await deliveries()).toMatchObject(expected));

describe('an event of an endpoint', () => {
  it('arrives once, signed by the secret that its owner was shown', async () => {
    const receiver = await aReceiver();
    const made = await anEndpoint(receiver.url);
    const sender = aSender();
    await sender.plan([end, end]);
    await sender.plan([end]);
    await deliveriesAre({ state: 'delivered' });
    expect(receiver.received).toHaveLength(1);
    const [received] = receiver.received;
    const { headers = {}, body = '' } = received ?? {};
    const event: unknown = JSON.parse(body);
    expect(event).toStrictEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      object: 'event',
      type: 'response.completed',
      created_at: 1_700_000_000,
      data: { id: end.id },
    });
    expect(headers).toMatchObject({
      'webhook-id': (event as { id: string }).id,
      'user-agent': 'Sluice/test',
    });
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(made.signing_secret.slice('whsec_'.length), 'base64');
    expect(headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
    );
  });

  it('leaves none open when it is planned twice at once, and has ended before the second time is over', async () => {
    const receiver = await aReceiver();
    const made = await anEndpoint(receiver.url, '');
    const goOn = latch();
    const held = latch();
    const slow = new Proxy(redis.client, {
      get(client, name) {
        const value: unknown = Reflect.get(client, name);
        if (typeof value !== 'function') return value;
        if (name !== 'eval') return value.bind(client) as unknown;
        return async (...args: Parameters<typeof client.eval>) => {
          held.open();
          await goOn.wait();
          return client.eval(...args);
        };
      },
    });
    const late = aSender({ connection: slow }).plan([end]);
    await held.wait();
    await aSender().plan([end]);
    await deliveriesAre({ state: 'delivered' });
    goOn.open();
    await late;
    expect(await redis.client.smembers(`${redis.prefix}webhook-deliveries:${made.id}`)).toEqual([]);
  });

  it('has room when it is of a batch, also behind as many ends of responses as there may be', async () => {
    const receiver = await aReceiver();
    const types = [...eventTypes, 'batch.completed' as const];
    const { id } = await endpoints().create(tenant, { name: 'mine', url: receiver.url, event_types: types });
    const open = Array.from({ length: 10_000 }, (_, index) => `evt_${index}`);
    await redis.client.sadd(`${redis.prefix}webhook-deliveries:${id}`, ...open);
    await aSender().plan([end, { ...end, id: 'batch_1', type: 'batch.completed' }]);
    await deliveriesAre({ state: 'delivered' });
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]?.body).toContain('batch_1');
  });

  it('is not open any more once it has ended, also when it is told again', async () => {
    const receiver = await aReceiver();
    const { id } = await anEndpoint(receiver.url);
    const atItsEnd = latch<Promise<void>>();
    const sender = aSender({ onTry: () => atItsEnd.open(sender.plan([end])) });
    await sender.plan([end]);
    await atItsEnd.wait();
    await deliveriesAre({ state: 'delivered' });
    await sender.plan([end]);
    expect(await redis.client.smembers(`${redis.prefix}webhook-deliveries:${id}`)).toEqual([]);
    expect(receiver.received).toHaveLength(1);
  });

  it('goes to the endpoints of its tenant that ask for it, and to no others', async () => {
    const receiver = await aReceiver();
    const at = (name: string) => `${receiver.url}/${name}`;
    await anEndpoint(at('one'), 'one');
    await endpoints().create(tenant, { name: 'other', url: at('failed'), event_types: ['response.failed'] });
    await endpoints().create('team-b', { name: 'theirs', url: at('theirs'), event_types: eventTypes });
    await aSender().plan([end]);
    await deliveriesAre({ state: 'delivered' });
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/one']);
  });

  it('is sent again under the same id, with a signature of its own, until it is taken', async () => {
    const answers = [500, 302, 200];
    const receiver = await aReceiver(() => ({
      status: answers.shift() ?? 200,
      headers: { location: '/other' },
    }));
    await anEndpoint(receiver.url);
    await aSender().plan([end]);
    await deliveriesAre({ state: 'delivered', tries: 3, note: 'answered 200' });
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook']);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('has failed after the last try of its schedule', async () => {
    const receiver = await aReceiver(() => ({ status: 503 }));
    await anEndpoint(receiver.url);
    await aSender({ pausesMs: [1] }).plan([end]);
    await deliveriesAre({ state: 'failed', tries: 2, note: 'answered 503' });
  });

  it('is tried ten times within three days', () => {
    const callsMs = 10 * 20_000;
    const pausesMs = defaultPausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
    expect(defaultPausesMs).toHaveLength(9);
    expect(pausesMs + callsMs).toBeLessThan(72 * 3_600_000);
  });

  it('is given up when three days have passed', async () => {
    const receiver = await aReceiver(() => ({ status: 503 }));
    await anEndpoint(receiver.url);
    let now = 1_700_000_000_000;
    const sender = aSender({
      now: () => now,
      onTry: () => (now += 73 * 3_600_000),
    });
    await sender.plan([end]);
    await deliveriesAre({ state: 'failed', note: 'not delivered within three days' });
    expect(receiver.received).toHaveLength(1);
  });

  it('is the last one for an endpoint that answers 410, until that gets another URL', async () => {
    const receiver = await aReceiver(({ path }) => ({ status: path === '/hook' ? 410 : 200 }));
    const { id } = await anEndpoint(receiver.url);
    const sender = aSender();
    await sender.plan([end]);
    await eventually(async () =>
      expect(await endpoints().get(tenant, id)).toMatchObject({ status: 'disabled' }),
    );
    await sender.plan([{ ...end, id: 'create-response_2' }]);
    expect(await deliveries()).toHaveLength(1);
    await endpoints().update(tenant, id, { url: `${receiver.url}/new` });
    await sender.plan([{ ...end, id: 'create-response_3' }]);
    await eventually(() => expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook/new']));
  });

  it('is sent by another process when its own has died', async () => {
    const receiver = await aReceiver();
    await anEndpoint(receiver.url);
    const dead = new WebhookSender({ ...common(), jobs: redis.connect(), logger });
    await dead.plan([end]); // and never starts
    aSender();
    await eventually(() => expect(receiver.received).toHaveLength(1));
  });

  it('is sent again by another process when its own stops in the middle of a call', async () => {
    const calls: string[] = [];
    const receiver = await aReceiver(({ path }) => {
      calls.push(path);
      return calls.length === 1 ? new Promise<never>(() => undefined) : { status: 200 };
    });
    await anEndpoint(receiver.url);
    const stopping = aSender({ timeoutMs: 600_000 });
    await stopping.plan([end]);
    await eventually(() => expect(calls).toHaveLength(1));
    await stopping.stop();
    aSender();
    await deliveriesAre({ state: 'delivered', tries: 1, note: 'answered 200' });
  });

  it('does not keep another tenant waiting behind an endpoint that is silent', async () => {
    const silent = await aReceiver(() => new Promise<never>(() => undefined));
    const receiver = await aReceiver();
    await anEndpoint(silent.url, 'silent');
    await endpoints().create('team-b', { name: 'theirs', url: receiver.url, event_types: eventTypes });
    const sender = aSender({ timeoutMs: 600_000 });
    const many = Array.from({ length: 100 }, (_, at) => ({ ...end, id: `create-response_${at}` }));
    await sender.plan(many);
    await eventually(() => expect(silent.received).toHaveLength(4));
    await sender.plan([{ ...end, tenant: 'team-b' }]);
    await eventually(() => expect(receiver.received).toHaveLength(1));
    expect(silent.received).toHaveLength(4);
    await silent.close();
  });

  it('does not go to a private network that its URL names', async () => {
    const receiver = await aReceiver();
    const { port } = new URL(receiver.url);
    await anEndpoint(`http://localhost:${port}/hook`);
    await aSender({ ...common(false), pausesMs: [] }).plan([end]);
    await deliveriesAre({ state: 'failed', note: 'the address is not allowed here' });
    expect(receiver.received).toEqual([]);
  });

  it('does not go to a private network that its name resolves to', async () => {
    const receiver = await aReceiver();
    const { port } = new URL(receiver.url);
    const url = `http://hooks.example:${port}/hook`;
    await anEndpoint(url);
    const lookup = guardedLookup({
      allowPrivate: false,
      lookup: (_host, _options, done) =>
        done(null, [
          { address: '93.184.215.14', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ]),
    });
    await aSender({ lookup, pausesMs: [] }).plan([end]);
    await deliveriesAre({ state: 'failed', note: 'the address is not a public one' });
    expect(receiver.received).toEqual([]);
  });
});

describe('the endpoints of a tenant', () => {
  it('belong to it alone', async () => {
    const { id } = await anEndpoint('https://example.com/');
    const unknown = { code: 'not_found' };
    await expect(endpoints().get('team-b', id)).rejects.toMatchObject(unknown);
    await expect(endpoints().update('team-b', id, { name: 'x' })).rejects.toMatchObject(unknown);
    await expect(endpoints().remove('team-b', id)).rejects.toMatchObject(unknown);
    await expect(endpoints().rotateSecret('team-b', id, false)).rejects.toMatchObject(unknown);
    await expect(endpoints().test('team-b', id, 'response.completed')).rejects.toMatchObject(unknown);
    expect((await endpoints().list('team-b', { limit: 20, order: 'desc' })).data).toEqual([]);
  });

  it('come in pages, the newest first', async () => {
    let now = 1;
    const owned = new WebhookEndpoints({ ...common(), now: () => (now += 1_000) });
    const make = (name: string) =>
      owned.create(tenant, { name, url: 'https://example.com/', event_types: eventTypes });
    for (const name of ['a', 'b', 'c']) await make(name);
    const first = await owned.list(tenant, { limit: 2, order: 'desc' });
    expect([first.data.map(({ name }) => name), first.hasMore]).toEqual([['c', 'b'], true]);
    const rest = await owned.list(tenant, { limit: 2, order: 'desc', after: first.data.at(-1)?.id });
    expect([rest.data.map(({ name }) => name), rest.hasMore]).toEqual([['a'], false]);
  });

  it('are no more than twenty, also when they are made at once', async () => {
    const tries = Array.from({ length: 25 }, (_, at) => anEndpoint('https://example.com/', `${at}`));
    const made = await Promise.allSettled(tries);
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
  });

  it('lose no change that is made at the same time as another one', async () => {
    const { id } = await anEndpoint('https://example.com/');
    await Promise.all([
      endpoints().update(tenant, id, { name: 'ours' }),
      endpoints().update(tenant, id, { event_types: ['response.failed'] }),
      endpoints().rotateSecret(tenant, id, true),
    ]);
    expect(await endpoints().get(tenant, id)).toMatchObject({
      name: 'ours',
      event_types: ['response.failed'],
    });
  });

  it.each([
    ['not a url'],
    ['http://example.com/'],
    ['https://user:pass@example.com/'],
    ['https://example.com/#part'],
    ['https://example.com:6379/'],
    ['https://127.0.0.1/'],
    ['https://2130706433/'],
    ['https://0x7f.1/'],
    ['https://[::1]/'],
    ['https://[::ffff:10.0.0.1]/'],
    ['https://169.254.169.254/latest/meta-data/'],
    ['https://localhost/'],
    ['https://metadata.google.internal/'],
    ['file:///etc/passwd'],
  ])('may not be at %s', async (url) => {
    const guarded = new WebhookEndpoints(common(false));
    const made = guarded.create(tenant, { name: 'mine', url, event_types: eventTypes });
    await expect(made).rejects.toMatchObject({ code: 'invalid_value', param: 'url' });
  });

  it('sign with both secrets for a day when the old one is kept, and with the new one alone when it is not', async () => {
    const receiver = await aReceiver();
    let now = 1_700_000_000_000;
    const owned = new WebhookEndpoints({ ...common(), now: () => now });
    const { id, signing_secret: first } = await owned.create(tenant, {
      name: 'mine',
      url: receiver.url,
      event_types: eventTypes,
    });
    const { signing_secret: second } = await owned.rotateSecret(tenant, id, true);
    const signatures = async () => {
      await owned.test(tenant, id, 'response.completed');
      return String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ').length;
    };
    expect(second).not.toBe(first);
    expect(await signatures()).toBe(2);
    now += 86_400_001;
    expect(await signatures()).toBe(1);
    await owned.rotateSecret(tenant, id, false);
    expect(await signatures()).toBe(1);
  });

  it('can be tried, and say what they answered', async () => {
    const receiver = await aReceiver(() => ({ status: 418 }));
    const { id } = await anEndpoint(receiver.url);
    await expect(endpoints().test(tenant, id, 'response.completed')).rejects.toMatchObject({
      code: 'webhook_endpoint_failed',
      message: 'The endpoint did not take the event: it answered 418.',
    });
  });
});
