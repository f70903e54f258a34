import { connect } from 'node:net';
import { eventually, latch, within } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

/** How long answers were held back, and what happens meanwhile. */
let held: number[];
let holdBack: () => Promise<void>;

const api = eachTestApi({
  isKept: false,
  holdBack: (ms) => {
    held.push(ms);
    return holdBack();
  },
});
beforeEach(() => {
  held = [];
  holdBack = () => Promise.resolve();
});

/** As many failures as an address may have in a minute. */
const most = 20;

const wrong = 'Bearer wrong';
const right = `Bearer ${apiKeys.first}`;

function ask(authorization: string | undefined, { url = '/v1/models', from = '192.0.2.1' } = {}) {
  return api.app.inject({
    url,
    remoteAddress: from,
    headers: authorization === undefined ? {} : { authorization },
  });
}

async function exhaust(): Promise<void> {
  for (let at = 0; at < most; at++) expect((await ask(wrong)).statusCode).toBe(401);
}

describe('a client that fails to log in too often', () => {
  it('has the same answer, later and with the time to wait', async () => {
    await exhaust();
    const first = (await ask(undefined, { from: '192.0.2.2' })).json();
    expect(held).toEqual([]);
    const { statusCode, headers, json } = await ask(wrong);
    expect(held).toEqual([1_000]);
    expect(statusCode).toBe(401);
    expect(json()).toEqual(first);
    expect(json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    const seconds = Number(headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(Number(headers['retry-after-ms'])).toBeLessThanOrEqual(seconds * 1000);
  });

  it('fails with a malformed, an unknown, a disabled, an expired and no key alike, at both mounts', async () => {
    const bad = [
      ...['', 'Basic dTpw', wrong, `Bearer ${apiKeys.disabled}`, `Bearer ${apiKeys.expired}`],
      undefined,
    ];
    for (let at = 0; at < most; at++) {
      const url = at % 2 === 0 ? '/v1/models' : '/api/v1/models';
      expect((await ask(bad[at % bad.length], { url })).headers).not.toHaveProperty('retry-after');
    }
    for (const authorization of bad) {
      const { statusCode, headers } = await ask(authorization);
      expect(statusCode).toBe(401);
      expect(headers).toHaveProperty('retry-after');
    }
  });

  it('keeps nobody out and holds nobody up who has a key, behind the same address or another', async () => {
    await exhaust();
    expect((await ask(right)).statusCode).toBe(200);
    expect((await ask(wrong, { from: '192.0.2.2' })).statusCode).toBe(401);
    expect(held).toEqual([]);
  });

  it('can still see whether the service is well', async () => {
    await exhaust();
    expect((await ask(undefined, { url: '/healthz' })).statusCode).toBe(200);
    expect(held).toEqual([]);
  });

  it('has so many answers held back, and loses its connection with each further one', async () => {
    await exhaust();
    const goOn = latch();
    holdBack = () => goOn.wait();
    const late = Array.from({ length: 64 }, () => ask(wrong));
    await eventually(() => held.length === 64);
    const { statusCode, headers } = await ask(wrong);
    expect([statusCode, headers.connection]).toEqual([401, 'close']);
    expect((await ask(right)).statusCode).toBe(200);
    goOn.open();
    for (const answer of await Promise.all(late)) {
      expect([answer.statusCode, answer.headers.connection]).toEqual([401, 'keep-alive']);
    }
  });

  it('is answered before its body has arrived', async () => {
    const { hostname, port } = new URL(await api.listen());
    const head = (authorization: string) =>
      `POST /v1/responses HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
    const firstLine = async () => {
      const socket = connect(Number(port), hostname);
      const answered = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
      socket.write(head(wrong));
      const answer = await within(answered);
      socket.destroy();
      return answer.split('\r\n', 1)[0];
    };
    for (let at = 0; at <= most; at++) expect(await firstLine()).toBe('HTTP/1.1 401 Unauthorized');
    expect(held).toHaveLength(1);
  });
});

describe('a key in the header of Anthropic', () => {
  const askWith = async (headers: Record<string, string>) =>
    (await api.app.inject({ url: '/v1/models', headers })).statusCode;

  it('passes, unless there is an Authorization', async () => {
    expect(await askWith({ 'x-api-key': apiKeys.first })).toBe(200);
    expect(await askWith({ 'x-api-key': 'wrong' })).toBe(401);
    expect(await askWith({ 'x-api-key': ` ${apiKeys.disabled}` })).toBe(401);
    expect(await askWith({ 'x-api-key': apiKeys.first, authorization: wrong })).toBe(401);
    expect(await askWith({ 'x-api-key': 'wrong', authorization: right })).toBe(200);
  });
});

describe('a key that expires', () => {
  afterEach(() => vi.restoreAllMocks());

  it('does so by the clock of the store, whatever that of the machine says', async () => {
    const hour = 3_600_000;
    const expiringIn = (ms: number) => {
      const expiresAt = new Date(api.now() + ms).toISOString();
      const { keys, limits } = api.settings;
      api.live.replace({ keys: keys.map((key) => ({ ...key, expiresAt })), limits });
    };
    vi.spyOn(Date, 'now').mockReturnValue(api.now() + 2 * hour);
    expiringIn(hour);
    expect((await ask(right)).statusCode).toBe(200);
    vi.spyOn(Date, 'now').mockReturnValue(api.now() - 2 * hour);
    expiringIn(-hour);
    expect((await ask(right)).statusCode).toBe(401);
  });
});

describe('a key that is replaced while the service runs', () => {
  it('is refused from then on, and a new one passes', async () => {
    const { keys, limits } = api.settings;
    api.live.replace({ keys: keys.filter(({ name }) => name === 'first'), limits });
    expect((await ask(`Bearer ${apiKeys.second}`)).statusCode).toBe(401);
    api.live.replace({ keys: keys.filter(({ name }) => name === 'second'), limits });
    expect((await ask(right)).statusCode).toBe(401);
    expect((await ask(`Bearer ${apiKeys.second}`)).statusCode).toBe(200);
  });

  it('leaves its open streams and what it has accepted to run to their end', async () => {
    const [running, revoked] = [latch(), latch()];
    api.worker.onRun(async (run) => {
      run.say('Hello');
      running.open();
      await revoked.wait();
      run.say(' again');
      await run.complete();
    });
    const stream = await api.stream({ model, input: 'Hi' });
    await running.wait();
    api.live.replace({ keys: [], limits: api.settings.limits });
    expect((await ask(right)).statusCode).toBe(401);
    revoked.open();
    const text = await stream.text();
    expect(text).toContain('event: response.completed');
    expect(text).toContain('Hello again');
  });
});

it('a limit of the service that changes holds for the next request', async () => {
  const { keys, limits } = api.settings;
  api.live.replace({ keys, limits: { ...limits, queuedBytes: 1 } });
  expect((await api.create({ model, input: 'Hi' })).status).toBe(429);
  api.live.replace({ keys, limits });
  expect((await api.create({ model, input: 'Hi' })).status).toBe(200);
});
