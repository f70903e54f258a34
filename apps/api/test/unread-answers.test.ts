import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually, latch, within } from '@sluice/testing';
import fastify from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BodyBudget } from '../src/bodies/body-budget.ts';
import { registerUnreadAnswers } from '../src/plugins/unread-answers.ts';
import { postResponse } from './api-process-site.ts';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

/** Far shorter than the half minute of the service. */
const stalledMs = 300;
/** Long enough for other requests beside an answer that nobody reads. */
const stalledBesideOthersMs = 2_000;
/** More than the buffers of both sockets take. */
const text = 'x'.repeat(10_000_000);

const api = eachTestApi({ stalledMs });

beforeEach(() => api.worker.answer(text));

afterEach(() => void vi.useRealTimers());

/** A caller that sends a request and reads only when the test says so, and the api's side of its connection. */
async function caller(method: string, path: string, body = ''): Promise<{ socket: Socket; served: Socket }> {
  const serving = latch<Socket>();
  api.app.server.once('connection', (accepted) => serving.open(accepted));
  const socket = connect({ port: Number(new URL(await api.listen()).port), host: '127.0.0.1' });
  socket.on('error', () => undefined); // It is cut.
  socket.pause();
  socket.write(
    [
      `${method} ${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${apiKeys.first}`,
      ...(body === '' ? [] : ['Content-Type: application/json']),
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  return { socket, served: await serving.wait() };
}

const create = (members: object = {}) =>
  caller('POST', '/v1/responses', JSON.stringify({ model, input: 'Hi', ...members }));

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
}

/** The memory that buffers take once nobody holds them any more. */
function bytesOfBuffers(): number {
  collectGarbage();
  return process.memoryUsage().external;
}

async function storedId(): Promise<string> {
  const { json } = await api.create({ model, input: 'Hi' });
  return String(json()['id']);
}

/** Asks, and reads nothing of the answer until it is given up. Keeps no hold of either side of the connection. */
async function expectGivenUp(ask: () => ReturnType<typeof caller>): Promise<void> {
  const { socket, served } = await ask();
  await eventually(() => served.writableLength > 0 || served.destroyed);
  expect(served.writableLength).toBeLessThan(256 * 1024);
  if (!served.destroyed) await within(once(served, 'close'));
  expect(socket.bytesRead).toBeLessThan(text.length);
  socket.destroy();
}

describe('an answer that its caller does not read', () => {
  it.each<[string, () => ReturnType<typeof caller>]>([
    ['of a create', () => create()],
    ['of a GET', async () => caller('GET', `/v1/responses/${await storedId()}`)],
    ['of a list', async () => (await storedId(), caller('GET', '/v1/responses'))],
  ])('%s holds at most 256 KiB, and is given up with all it holds', async (_, ask) => {
    const before = bytesOfBuffers();
    await expectGivenUp(ask);
    await eventually(() => bytesOfBuffers() < before + text.length / 2);
  });

  it('counts as held for its tenant, once for all who read it', async () => {
    await api.start({ stalledMs: stalledBesideOthersMs, bodyBytesInFlight: 5 * text.length });
    api.worker.answer(text);
    const path = `/v1/responses/${await storedId()}`;
    const { socket, served } = await caller('GET', path);
    await eventually(() => api.bodyBudget.held > text.length);
    const { held } = api.bodyBudget;
    expect((await api.get(path)).status).toBe(200);
    expect(api.bodyBudget.held).toBe(held);
    // It holds up no other tenant, and no short answer of the same one.
    expect((await api.get('/v1/models')).status).toBe(200);
    if (!served.destroyed) await within(once(served, 'close'));
    await eventually(() => api.bodyBudget.held === 0);
    expect((await api.get(path)).status).toBe(200);
    socket.destroy();
  });

  it('counts no longer and is kept no longer when its caller had left before there was one', async () => {
    const app = fastify();
    const budget = new BodyBudget(() => 10 * text.length);
    const [begun, sent] = [latch<WeakRef<object>>(), latch()];
    registerUnreadAnswers(app, { bodyBudget: budget });
    app.addHook('onSend', (_request, _reply, _payload, done) => {
      sent.open();
      done();
    });
    app.get('/', async (_request, reply) => {
      begun.open(new WeakRef(reply.raw));
      await once(reply.raw, 'close');
      return text;
    });
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const answer = await begun.wait();
    socket.destroy();
    await sent.wait();
    expect(budget.held).toBe(0);
    await eventually(() => {
      collectGarbage();
      return answer.deref() === undefined;
    });
    await app.close();
  });

  it("counts as held by itself where its text is nobody else's", async () => {
    const app = fastify();
    const budget = new BodyBudget(() => 2 * text.length);
    registerUnreadAnswers(app, { bodyBudget: budget });
    app.get('/', () => text);
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect({ port: Number(port), host: '127.0.0.1' }).pause();
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await eventually(() => budget.held === text.length);
    socket.destroy();
    await eventually(() => budget.held === 0);
    await app.close();
  });

  it('makes that of a create wait for room, since its work is done', async () => {
    await api.start({ stalledMs: stalledBesideOthersMs, bodyBytesInFlight: 3 * text.length });
    api.worker.answer(text);
    const { socket, served } = await create();
    await eventually(() => api.bodyBudget.held > text.length);
    const answer = await api.create({ model, input: 'Hi' });
    expect(answer.status).toBe(200);
    expect(served.destroyed).toBe(true);
    expect(api.worker.runs).toHaveLength(2);
    await eventually(() => api.bodyBudget.held === 0);
    socket.destroy();
  });

  it.each<[string, (long: string) => unknown]>([
    ['a whole one', (long) => long],
    ['a stream with a long piece', (long) => Readable.from([Buffer.from(long)])],
  ])('is not given up while its caller reads on, however slowly: %s', async (_, answerOf) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const app = fastify();
    // Several times what it may take at once.
    const long = text.repeat(6);
    registerUnreadAnswers(app, { stalledMs, bodyBudget: new BodyBudget(() => 10 * long.length) });
    app.get('/', () => answerOf(long));
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const ask = async () => {
      const accepted = once(app.server, 'connection');
      const socket = connect({ port: Number(port), host: '127.0.0.1' }).on('error', () => undefined);
      socket.pause();
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      const [served] = (await within(accepted)) as [Socket];
      await eventually(() => served.writableLength > 0);
      return { socket, served };
    };
    const [reader, other] = [await ask(), await ask()];
    let received = 0;
    let enough = 0;
    reader.socket.on('data', (bytes) => {
      received += bytes.length;
      if (reader.served.bytesWritten > enough) reader.socket.pause();
    });
    while (!other.served.destroyed) {
      vi.advanceTimersByTime(0.9 * stalledMs);
      // More than was on its way at the looks.
      enough = reader.served.bytesWritten + 256 * 1024;
      reader.socket.resume();
      await eventually(() => reader.socket.isPaused());
    }
    enough = Number.POSITIVE_INFINITY;
    expect(reader.served.destroyed).toBe(false);
    expect(received).toBeLessThan(long.length);
    const closed = once(reader.socket, 'close');
    reader.socket.resume();
    await within(closed);
    expect(received).toBeGreaterThan(long.length);
    await app.close();
  });
});

describe('an answer to HEAD', () => {
  it('has the headers of the stream, of which nothing is read', async () => {
    const app = fastify();
    registerUnreadAnswers(app, { stalledMs, bodyBudget: new BodyBudget(() => text.length) });
    const streams: Readable[] = [];
    let pieces = 0;
    app.get('/', (_request, reply) => {
      const stream = new Readable({
        read() {
          pieces += 1;
          this.push(pieces > 1_000 ? null : Buffer.alloc(65_536));
        },
      });
      streams.push(stream);
      return reply.header('content-length', 65_536_000).send(stream);
    });
    const { statusCode, headers } = await app.inject({ method: 'HEAD', url: '/' });
    expect({ statusCode, length: headers['content-length'] }).toEqual({
      statusCode: 200,
      length: '65536000',
    });
    expect(streams).toMatchObject([{ destroyed: true }]);
    expect(pieces).toBe(0);
    await app.close();
  });
});

describe('a large answer', () => {
  it('says how long it is, and is whole', async () => {
    const response = await postResponse(await api.listen(), {});
    const body = await response.text();
    expect(response.headers.get('content-length')).toBe(String(body.length));
    expect(JSON.parse(body)).toMatchObject({ status: 'completed', output: [{ content: [{ text }] }] });
  });

  it('whose caller has waited for room has so few listeners that Node does not warn of a leak', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => void warnings.push(message);
    process.on('warning', onWarning);
    const instructions = 'x'.repeat(100_000);
    api.worker.onRun((run) => run.complete());
    expect((await api.create({ model, input: 'Hi', instructions })).status).toBe(200);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});
