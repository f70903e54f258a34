import { Agent, type ClientRequest, request } from 'node:http';
import { connect } from 'node:net';
import { checkEventGrammar, eventually, readSse, testRedis, type TestRedis, within } from '@sluice/testing';
import { type ScriptedWorker, startScriptedWorker } from './scripted-worker.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ApiProcess } from '../src/api-process.ts';
import { leaseHere, postResponse, processSettings, startApi as startProcess } from './api-process-site.ts';
import { apiKeys, model } from './test-api.ts';

let redis: TestRedis;
let worker: ScriptedWorker;
let api: ApiProcess;
let url: string;
let agent: Agent;

beforeEach(async () => {
  redis = await testRedis();
  worker = await startScriptedWorker({
    redisUrl: redis.url,
    keyPrefix: `${redis.prefix}:`,
    models: [model],
  });
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
});

afterEach(async () => {
  agent.destroy();
  await api.stop('requested');
  await worker.stop();
  await redis.close();
});

/** Longer than any test waits: whoever has a grace to come back keeps its response. */
const retryGraceMs = 600_000;

async function startApi(drainTimeoutMs = 10_000): Promise<void> {
  ({ api, url } = await anApi(drainTimeoutMs));
}

function anApi(drainTimeoutMs = 10_000) {
  const settings = processSettings(redis.url, `${redis.prefix}:`);
  settings.recovery.retryGraceMs = retryGraceMs;
  return startProcess({ settings: { ...settings, drainTimeoutMs }, replaced: { leaseOver: leaseHere } });
}

const create = (more: object = {}, headers: Record<string, string> = {}) =>
  postResponse(url, more, { headers });

/** A create request whose headers have arrived at the server, and whose body has not. */
async function begun(contentLength: number): Promise<ClientRequest> {
  const slow = request(`${url}/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKeys.first}`,
      'content-type': 'application/json',
      'content-length': contentLength,
      expect: '100-continue',
    },
  });
  const arrived = new Promise((resolve) => slow.once('continue', resolve));
  slow.flushHeaders();
  await within(arrived);
  return slow;
}

/** A request over the one connection that the agent keeps. */
function overKeptConnection(path: string): Promise<{ status: number; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKeys.first}` };
    const asked = request(`${url}${path}`, { agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, connection: response.headers.connection });
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

const runsOf = (count: number) => eventually(() => worker.runs.length === count);

describe('a process that is told to stop', () => {
  it('finishes what it has begun, and says that it takes no more', async () => {
    await startApi();
    const { goOn } = worker.hold('Hello');
    const whole = create();
    const stream = await create({ stream: true });
    await runsOf(2);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await overKeptConnection('/v1/models')).toEqual({ status: 200, connection: 'keep-alive' });

    const stopping = api.stop('terminated');
    await eventually(async () => (await overKeptConnection('/readyz')).status === 503);
    expect((await overKeptConnection('/healthz')).status).toBe(200);
    // A load balancer that has not noticed yet is still served, and told to move on.
    expect(await overKeptConnection('/v1/models')).toEqual({ status: 200, connection: 'close' });
    // From here on nobody new comes in.
    await eventually(() =>
      fetch(`${url}/healthz`, { headers: { connection: 'close' } }).then(
        () => false,
        () => true,
      ),
    );
    goOn.open();
    expect((await whole).status).toBe(200);
    const { events, done } = await readSse(await stream.text());
    expect(checkEventGrammar(events)).toEqual([]);
    expect(done).toBe(true);
    await within(stopping);
  });

  it('waits for the rest of a request that has begun to arrive', async () => {
    await startApi();
    worker.onRun((run) => run.complete());
    const body = JSON.stringify({ model, input: 'Hi' });
    const slow = await begun(body.length);
    const answered = new Promise<number | undefined>((resolve, reject) => {
      slow.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    const other = await anApi();
    const idle = connect({ port: Number(new URL(other.url).port), host: '127.0.0.1' });
    idle.write('GET /v1/models HTTP/1.1\r\n');
    const cut = new Promise((resolve) => idle.on('error', () => undefined).once('close', resolve));
    const stopping = api.stop('terminated');
    await eventually(() =>
      overKeptConnection('/healthz').then(
        () => false,
        () => true,
      ),
    );
    // Another api, which stops later, cuts a connection that gives it nothing to do.
    await other.api.stop('requested');
    await within(cut);
    slow.end(body);
    expect(await within(answered)).toBe(200);
    await within(stopping);
  });

  it('does not wait for the rest of a request for longer than its grace', async () => {
    await startApi(1_000);
    const slow = await begun(100);
    const broken = new Promise((resolve) => slow.once('error', resolve));
    await within(api.stop('terminated'));
    expect(await within(broken)).toBeInstanceOf(Error);
  });

  it('stops at once when nothing is under way', async () => {
    await startApi();
    await within(api.stop('terminated'));
  });

  it('can be stopped without having been started, and twice', async () => {
    await startApi();
    await api.stop('requested');
    await api.stop('requested');
  });
});

describe('a process that may not wait any longer', () => {
  it('ends what is open without a false end, and leaves the responses to a retry', async () => {
    await startApi(1_000);
    const { goOn } = worker.hold('Hello');
    const whole = create({}, { 'idempotency-key': 'one' });
    const stream = await create({ stream: true });
    await runsOf(2);
    await within(api.stop('terminated'));
    const refused = await whole;
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    await expect(stream.text()).rejects.toThrow();
    expect(worker.runs.map((run) => run.cancelled.aborted)).toEqual([false, false]);
    goOn.open();
    // Another process finds them finished.
    const ids = worker.runs.map(({ record }) => record.id);
    await startApi();
    for (const id of ids) {
      await eventually(async () => {
        const headers = { authorization: `Bearer ${apiKeys.first}` };
        const answer = await fetch(`${url}/v1/responses/${id}`, { headers });
        const { status } = (await answer.json()) as { status: string };
        return status === 'completed';
      });
    }
  });

  it('ends the response of a caller that cannot come back for it', async () => {
    await startApi(1_000);
    worker.hold('Hello');
    const whole = create();
    await runsOf(1);
    await within(api.stop('terminated'));
    expect((await whole).status).toBe(503);
    await eventually(() => worker.runs[0]?.cancelled.aborted);
  });

  it('answers a cancellation that is under way', async () => {
    await startApi(1_500);
    await worker.stop();
    const created = (await (await create({ background: true })).json()) as { id: string };
    // A worker runs it, and will not obey: the answer comes when that has been waited for.
    const record = `${redis.prefix}:{0}:response:${created.id}`;
    await redis.client.hset(record, { status: 'in_progress', token: 't' });
    const headers = { authorization: `Bearer ${apiKeys.first}` };
    const cancelled = fetch(`${url}/v1/responses/${created.id}/cancel`, { method: 'POST', headers });
    await eventually(async () => (await redis.client.hget(record, 'cancel')) === 'requested');
    const stopping = api.stop('terminated');
    const answer = await within(cancelled);
    expect(answer.status).toBe(200);
    await within(stopping);
  });
});
