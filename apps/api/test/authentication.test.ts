import { connect } from 'node:net';
import { latch, within } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { apiKeys, model, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;

beforeEach(async () => {
  api = await startTestApi();
});
afterEach(async () => {
  await api.stop();
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
  it('is told to wait, in the words of the contract', async () => {
    await exhaust();
    const { statusCode, headers, json } = await ask(wrong);
    expect(statusCode).toBe(429);
    expect(json()).toEqual({
      error: {
        type: 'too_many_requests',
        code: 'rate_limit_exceeded',
        param: null,
        message: expect.stringMatching(/Please try again in \d+s\.$/),
      },
    });
    const seconds = Number(headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(Number(headers['retry-after-ms'])).toBeLessThanOrEqual(seconds * 1000);
  });

  it('fails with a malformed, an unknown, a disabled and an expired key alike, at both mounts', async () => {
    const bad = ['', 'Basic dTpw', wrong, `Bearer ${apiKeys.disabled}`, `Bearer ${apiKeys.expired}`];
    for (let at = 0; at < most; at++) {
      const url = at % 2 === 0 ? '/v1/models' : '/api/v1/models';
      expect((await ask(bad[at % bad.length], { url })).statusCode).toBe(401);
    }
    for (const authorization of bad) expect((await ask(authorization)).statusCode).toBe(429);
  });

  it('is told that a key is missing as often as it sends none', async () => {
    for (let at = 0; at < 2 * most; at++) expect((await ask(undefined)).statusCode).toBe(401);
    await exhaust();
    expect((await ask(wrong)).statusCode).toBe(429);
    expect((await ask(undefined)).statusCode).toBe(401);
  });

  it('keeps nobody out who has a key, behind the same address or another', async () => {
    await exhaust();
    expect((await ask(right)).statusCode).toBe(200);
    expect((await ask(wrong)).statusCode).toBe(429);
    expect((await ask(wrong, { from: '192.0.2.2' })).statusCode).toBe(401);
  });

  it('can still see whether the service is well', async () => {
    await exhaust();
    expect((await ask(undefined, { url: '/healthz' })).statusCode).toBe(200);
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
    for (let at = 0; at < most; at++) expect(await firstLine()).toBe('HTTP/1.1 401 Unauthorized');
    expect(await firstLine()).toBe('HTTP/1.1 429 Too Many Requests');
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
