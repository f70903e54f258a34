import { connect, type Socket } from 'node:net';
import { checkEventGrammar, eventually, latch } from '@sluice/testing';
import { describe, expect, it, vi } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { apiKeys, model, type TestApi } from './test-api.ts';
import type { Frame, TestSocket, UpgradeRefused } from './test-socket.ts';

const api = eachTestApi();

const create = { model, input: 'Hi' };
const responseOf = (frame: Frame | undefined) => frame?.['response'] as Record<string, unknown>;
const idOf = (frames: readonly Frame[]) => String(responseOf(frames[0])['id']);
const errorOf = (frames: readonly Frame[]) => frames.at(-1)?.['error'];
/** What the model was given, run by run. */
const promptsOf = (run: number) =>
  api.worker.runs[run]?.record.request.input.map((item) =>
    item.type === 'message' ? item.content : item.type,
  );
const said = (text: string) => [{ type: 'output_text', text, annotations: [] }];
const asked = (text: string) => [{ type: 'input_text', text }];

describe('a turn', () => {
  it.each([
    ['/v1', 'response'],
    ['/api/v1', 'create_response'],
  ])(
    'at %s is sent the events of a stream, of a %s, and nothing behind the last one',
    async (mount, object) => {
      const client = await api.connect({ mount });
      const frames = await client.turn(create);
      expect(checkEventGrammar(frames as never)).toEqual([]);
      expect(frames.map((frame) => frame['sequence_number'])).toEqual([...frames.keys()]);
      expect(responseOf(frames.at(-1))).toMatchObject({ object, status: 'completed', output_text: 'Hello' });
      const again = await client.turn(create);
      expect(again[0]).toMatchObject({ type: 'response.created', sequence_number: 0 });
    },
  );

  it('is stored like any other', async () => {
    const client = await api.connect();
    const id = idOf(await client.turn(create));
    const { status, json } = await api.get(`/v1/responses/${id}`);
    expect(status).toBe(200);
    expect(json()).toMatchObject({ status: 'completed', background: false });
  });

  it('tolerates what decides how an answer is delivered', async () => {
    const client = await api.connect();
    const fields = { stream: false, stream_options: 7, background: false, client_metadata: {} };
    const frames = await client.turn({ ...create, ...fields });
    expect(frames.at(-1)?.type).toBe('response.completed');
  });

  it('waits for the one before it in its lane', async () => {
    const { goOn } = api.worker.hold('Hello');
    const client = await api.connect();
    const [first, second] = [client.turn(create), client.turn({ ...create, input: 'Two' })];
    await client.next(({ type }) => type === 'response.output_text.delta');
    expect(client.frames.filter(({ type }) => type === 'response.created')).toHaveLength(1);
    goOn.open();
    await first;
    await second;
    await eventually(() => client.frames.filter(({ type }) => type === 'response.completed').length === 2);
    const types = client.frames.map(({ type }) => type);
    expect(types.indexOf('response.completed')).toBeLessThan(types.lastIndexOf('response.created'));
  });

  it('of another lane runs beside it, and its events say which', async () => {
    const bothRun = latch();
    api.worker.onRun(async (run) => {
      run.say('Hello');
      if (api.worker.runs.length === 2) bothRun.open();
      await bothRun.wait();
      await run.complete();
    });
    const client = await api.connect();
    client.send({ type: 'response.create', ...create, stream_id: 'a' });
    client.send({ type: 'response.create', ...create, stream_id: 'b "' });
    for (const lane of ['a', 'b "']) {
      const isOf = (frame: Frame) => frame['stream_id'] === lane;
      await client.next((frame) => isOf(frame) && frame.type === 'response.completed');
      expect(checkEventGrammar(client.frames.filter(isOf) as never)).toEqual([]);
    }
  });

  it('ends with its connection', async () => {
    api.worker.hold('Hello');
    const client = await api.connect();
    client.send({ type: 'response.create', ...create });
    const created = await client.next(({ type }) => type === 'response.created');
    await client.next(({ type }) => type === 'response.output_text.delta');
    await client.close();
    const { id } = responseOf(created);
    await eventually(
      async () => (await api.get(`/v1/responses/${String(id)}`)).json()['status'] === 'cancelled',
    );
    expect(api.sockets.size).toBe(0);
  });

  it('that fails ends with an error and response.failed, and the next one runs', async () => {
    api.worker.onRun((run) => run.fail('model_error'));
    const client = await api.connect();
    client.send({ type: 'response.create', ...create });
    const failed = await client.next(({ type }) => type === 'response.failed');
    expect(responseOf(failed)).toMatchObject({ status: 'failed', error: { code: 'model_error' } });
    api.worker.answer('Hello');
    expect((await client.turn(create)).at(-1)?.type).toBe('response.completed');
  });

  it('of many megabytes arrives whole, and so does its answer', async () => {
    const text = 'é'.repeat(400_000);
    api.worker.onRun(async (run) => {
      for (let at = 0; at < 10; at += 1) run.say(text.slice(0, 100_000));
      await run.complete();
    });
    const client = await api.connect();
    const frames = await client.turn({ model, input: text });
    expect(String(responseOf(frames.at(-1))['output_text'])).toBe('é'.repeat(1_000_000));
    expect(promptsOf(0)).toEqual([asked(text)]);
    await client.close();
    await eventually(() => api.bodyBudget.held === 0);
  });
});

describe('a response that is not stored', () => {
  it('is continued over its connection, turn after turn', async () => {
    const client = await api.connect();
    const first = idOf(await client.turn({ ...create, store: false }));
    const second = await client.turn({ model, input: 'Two', store: false, previous_response_id: first });
    expect(responseOf(second.at(-1))).toMatchObject({ status: 'completed', previous_response_id: first });
    await client.turn({ model, input: 'Three', store: false, previous_response_id: idOf(second) });
    expect(promptsOf(2)).toEqual([asked('Hi'), said('Hello'), asked('Two'), said('Hello'), asked('Three')]);
    await client.close();
    await eventually(() => api.sockets.contextBytes === 0);
  });

  it('is continued by one that is, which then stands for everything', async () => {
    const client = await api.connect();
    const first = idOf(await client.turn({ ...create, store: false }));
    const second = idOf(await client.turn({ model, input: 'Two', previous_response_id: first }));
    await client.close();
    const { status } = await api.create({ model, input: 'Three', previous_response_id: second });
    expect(status).toBe(200);
    expect(promptsOf(2)).toEqual([asked('Hi'), said('Hello'), asked('Two'), said('Hello'), asked('Three')]);
  });

  it('is continued behind one that is', async () => {
    const stored = String((await api.create(create)).json()['id']);
    const client = await api.connect();
    const second = await client.turn({ model, input: 'Two', store: false, previous_response_id: stored });
    await client.turn({ model, input: 'Three', store: false, previous_response_id: idOf(second) });
    expect(promptsOf(2)).toEqual([asked('Hi'), said('Hello'), asked('Two'), said('Hello'), asked('Three')]);
  });

  it('is not found over another connection, nor over HTTP', async () => {
    const [client, other] = [await api.connect(), await api.connect()];
    const first = idOf(await client.turn({ ...create, store: false }));
    const next = { model, input: 'Two', previous_response_id: first };
    const frames = await other.turn(next);
    expect(frames).toEqual([
      {
        type: 'error',
        status: 400,
        headers: { 'x-request-id': expect.stringMatching(/^req_/) },
        error: {
          type: 'invalid_request_error',
          code: 'previous_response_not_found',
          param: 'previous_response_id',
          message: `Previous response with id '${first}' not found.`,
        },
      },
    ]);
    expect((await api.create(next)).json()).toMatchObject({ error: { code: 'previous_response_not_found' } });
  });

  it('is forgotten when what continues from it fails', async () => {
    const client = await api.connect();
    const first = idOf(await client.turn({ ...create, store: false }));
    const output = { type: 'function_call_output', call_id: 'call_unknown', output: 'x' };
    const next = { model, store: false, previous_response_id: first };
    expect(errorOf(await client.turn({ ...next, input: [output] }))).toMatchObject({
      code: 'tool_call_not_found',
    });
    expect(errorOf(await client.turn({ ...next, input: 'Two' }))).toMatchObject({
      code: 'previous_response_not_found',
    });
    const other = idOf(await client.turn({ ...create, store: false }));
    await client.turn({ ...next, previous_response_id: other, input: 'x', temperature: 9 });
    expect(errorOf(await client.turn({ ...next, previous_response_id: other, input: 'Two' }))).toMatchObject({
      code: 'previous_response_not_found',
    });
  });

  it('cannot be continued while it runs', async () => {
    const { goOn } = api.worker.hold();
    const client = await api.connect();
    client.send({ type: 'response.create', ...create, store: false });
    const created = await client.next(({ type }) => type === 'response.created');
    const { id } = responseOf(created);
    const from = client.frames.length;
    client.send({ type: 'response.create', ...create, previous_response_id: id, stream_id: 'a' });
    const refused = await client.next(({ type }) => type === 'error', from);
    expect(refused).toMatchObject({ stream_id: 'a', error: { code: 'invalid_value' } });
    goOn.open();
    await client.next(({ type }) => type === 'response.completed');
  });

  it('is forgotten when there is no room for it', async () => {
    await api.start({ webSocketContextBytes: 4096 });
    const client = await api.connect();
    const first = idOf(await client.turn({ ...create, store: false }));
    await client.turn({ model, input: 'x'.repeat(1900), store: false });
    expect(errorOf(await client.turn({ model, input: 'Two', previous_response_id: first }))).toMatchObject({
      code: 'previous_response_not_found',
    });
    expect(api.sockets.contextBytes).toBeLessThan(2048);
  });
});

describe('a turn that calls no model', () => {
  it('gets an id that the next ones continue from', async () => {
    const client = await api.connect();
    const warm = await client.turn({ ...create, generate: false, store: false, instructions: 'Be brief.' });
    expect(warm.map(({ type }) => type)).toEqual(['response.created', 'response.completed']);
    expect(responseOf(warm.at(-1))).toMatchObject({
      status: 'completed',
      output: [],
      usage: { total_tokens: 0 },
    });
    expect(api.worker.runs).toEqual([]);
    const next = { model, input: 'Two', store: false, previous_response_id: idOf(warm) };
    expect((await client.turn(next)).at(-1)?.type).toBe('response.completed');
    expect(promptsOf(0)).toEqual([asked('Hi'), asked('Two')]);
  });

  it('may continue from a stored one, and may say nothing', async () => {
    const stored = String((await api.create(create)).json()['id']);
    const client = await api.connect();
    const warm = await client.turn({ model, input: [], generate: false, previous_response_id: stored });
    await client.turn({ model, input: 'Two', previous_response_id: idOf(warm) });
    expect(promptsOf(1)).toEqual([asked('Hi'), said('Hello'), asked('Two')]);
    const empty = await client.turn({ model, input: [], generate: false });
    expect(empty.at(-1)?.type).toBe('response.completed');
  });

  it('is checked like any other', async () => {
    const client = await api.connect();
    const warm = { input: 'Hi', generate: false };
    const unknown = `create-response_${'0'.repeat(32)}`;
    expect(errorOf(await client.turn({ ...warm, model: 'none' }))).toMatchObject({ code: 'model_not_found' });
    expect(errorOf(await client.turn({ ...warm, model, previous_response_id: unknown }))).toMatchObject({
      code: 'previous_response_not_found',
    });
    expect(errorOf(await client.turn({ ...warm, model, generate: 'no' }))).toMatchObject({
      code: 'invalid_type',
      param: 'generate',
    });
  });
});

describe('an upgrade', () => {
  const refused = (options: Parameters<TestApi['connect']>[0]) =>
    api.connect(options).then(
      () => expect.unreachable(),
      (error: unknown) => error as UpgradeRefused,
    );

  it('without a good key is refused as any request is', async () => {
    const { status, headers, body } = await refused({ key: 'wrong' });
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toBe('Bearer');
    expect(headers['x-request-id']).toMatch(/^req_/);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'invalid_api_key' } });
  });

  it('of another version of the protocol is refused', async () => {
    const { status } = await refused({ protocolVersion: 8 });
    expect(status).toBe(426);
  });

  it('is refused where WebSockets are switched off, and on every other path', async () => {
    expect((await refused({ mount: '/v1/models' })).status).toBe(426);
    await api.start({ webSockets: false });
    const { status, body } = await refused({});
    expect(status).toBe(426);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'upgrade_required' } });
  });

  it('is refused for a tenant that has as many connections as it may', async () => {
    const clients = [await api.connect(), await api.connect(), await api.connect()];
    expect((await refused({})).status).toBe(429);
    await api.connect({ key: apiKeys.second });
    await clients[0]?.close();
    await eventually(() => api.sockets.size === 3);
    await api.connect();
  });

  it('names the request', async () => {
    const client = await api.connect({ headers: { 'x-request-id': 'mine' } });
    expect(client.requestId).toBe('mine');
  });

  it('that is refused leaves no connection behind, whatever its client does', async () => {
    const { port } = new URL(await api.listen());
    const served = latch<Socket>();
    api.app.server.once('connection', (accepted) => served.open(accepted));
    const raw = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((resolve) => raw.once('close', resolve));
    raw.resume();
    raw.write(
      'GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    await new Promise((resolve) => raw.once('end', resolve));
    const connection = await served.wait();
    await eventually(() => connection.closed);
    raw.destroy();
    await closed;
  });
});

describe('a frame that is wrong', () => {
  it.each([
    ['not JSON', '{', 'invalid_json', null],
    ['a list', '[]', 'invalid_type', null],
    ['of no type', '{}', 'invalid_value', 'type'],
    ['of an unknown type', '{"type":"response.processed"}', 'invalid_value', 'type'],
    [
      'with a stream_id of another type',
      '{"type":"response.create","stream_id":1}',
      'invalid_value',
      'stream_id',
    ],
    ['with an empty stream_id', '{"type":"response.create","stream_id":""}', 'invalid_value', 'stream_id'],
    ['without a model', '{"type":"response.create","input":"Hi"}', 'missing_required_parameter', 'model'],
    [
      'in the background',
      '{"type":"response.create","model":"m","input":"Hi","background":true}',
      'unsupported_parameter',
      'background',
    ],
    [
      'too hot',
      '{"type":"response.create","model":"m","input":"Hi","temperature":3}',
      'decimal_above_max_value',
      'temperature',
    ],
  ])('because it is %s gets an error, and the connection goes on', async (_, text, code, param) => {
    const client = await api.connect();
    client.socket.send(text);
    const frame = await client.next(({ type }) => type === 'error');
    expect(frame).toMatchObject({ status: 400, error: { code, param } });
    expect((await client.turn(create)).at(-1)?.type).toBe('response.completed');
  });

  it('because it is binary gets an error, and the connection goes on', async () => {
    const client = await api.connect();
    client.socket.send(Buffer.from('{}'));
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({
      error: { code: 'invalid_request' },
    });
    expect((await client.turn(create)).at(-1)?.type).toBe('response.completed');
  });

  it('because it is too large gets an error before the connection is closed', async () => {
    const client = await api.connect();
    client.send({ type: 'response.create', model, input: 'x'.repeat(1_100_000) });
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({
      status: 413,
      error: { code: 'request_too_large' },
    });
    expect((await client.closed).code).toBe(1009);
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('because there is no room for it is told so, and its client comes back', async () => {
    await api.start({ bodyBytes: 100_000, bodyBytesInFlight: 200_000 });
    const held = api.bodyBudget.open('first');
    held.grow(90_000);
    const client = await api.connect();
    client.send({ type: 'response.create', model, input: 'x'.repeat(50_000) });
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({ status: 429 });
    expect((await client.closed).code).toBe(1013);
    held.release();
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('because it wishes to steer gets its own answer', async () => {
    const client = await api.connect();
    client.send({ type: 'response.steer', stream_id: 'a', response_id: 'x', input: 'Stop' });
    const frame = await client.next(({ type }) => type === 'response.steer.failed');
    expect(frame).toMatchObject({
      stream_id: 'a',
      steer: { response_id: 'x', input: 'Stop' },
      error: { code: 'steering_not_supported' },
    });
  });

  it('because there are too many of them costs no more than reads do', async () => {
    const client = await api.connect({ key: apiKeys.reader });
    for (let at = 0; at < 5; at += 1) client.send({ type: 'nothing' });
    const refused = await client.next((frame) => frame['status'] === 429);
    expect(refused).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect(refused['headers']).toHaveProperty('retry-after');
  });
});

describe('a client that takes no answers', () => {
  const wrongTurn = JSON.stringify({ ...create, type: 'response.create', model: 'none' });
  /** A frame of a client has six bytes in front, up to 125 bytes of data. */
  const header = 6;

  it.each([
    ['wrong frames', 2, (client: TestSocket) => client.socket.send('[]')],
    ['binary frames', 2, (client: TestSocket) => client.socket.send(Buffer.from('{}'))],
    ['turns that do not run', wrongTurn.length, (client: TestSocket) => client.socket.send(wrongTurn)],
  ])('and sends %s is not buffered for', async (_, bytes, send) => {
    const frames = 60_000;
    const served: Socket[] = [];
    api.app.server.on('connection', (socket) => served.push(socket));
    const client = await api.connect();
    client.socket.pause();
    for (let at = 0; at < frames; at += 1) send(client);
    const connection = served[0];
    if (!connection) throw new Error('nobody connected');
    await eventually(() => {
      const isHeldUp = connection.isPaused() && connection.writableNeedDrain;
      return isHeldUp || connection.bytesRead >= frames * (header + bytes);
    });
    expect(connection.writableLength).toBeLessThan(256 * 1024);
    client.socket.terminate();
    await eventually(() => api.sockets.size === 0 && api.bodyBudget.held === 0);
  });
});

it('an upgrade that is sent before the answer to another request is refused', async () => {
  const { hostname, port } = new URL(await api.listen());
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (data) => (received += String(data)));
  const upgrade = [
    ...['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  const headers = ['Host: a', `Authorization: Bearer ${apiKeys.first}`];
  const heads = [
    ['GET /readyz HTTP/1.1', ...headers],
    ['GET /v1/responses HTTP/1.1', ...headers, ...upgrade],
  ];
  socket.write(heads.map((lines) => [...lines, '', ''].join('\r\n')).join(''));
  await eventually(() => received.match(/HTTP\/1\.1 \d+/g)?.length === 2);
  expect(received.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['200', '426']);
  socket.destroy();
});

describe('a client that sends its frames in pieces', () => {
  const turn = Buffer.from(JSON.stringify({ ...create, type: 'response.create', input: 'x'.repeat(3_000) }));

  /** The bytes of a client's frame, masked. */
  function frame(opcode: number, data: Buffer, { fin = true, mask = [1, 2, 3, 4] } = {}): Buffer {
    const length =
      data.length < 126 ? [0x80 | data.length] : [0x80 | 126, data.length >> 8, data.length & 0xff];
    const masked = data.map((byte, at) => byte ^ (mask[at & 3] ?? 0));
    return Buffer.concat([Buffer.from([(fin ? 0x80 : 0) | opcode, ...length, ...mask]), masked]);
  }

  /** Writes below the library, each piece in a segment of its own as far as the kernel lets it be. */
  async function write(client: TestSocket, pieces: Iterable<Buffer>): Promise<void> {
    const connection = (client.socket as unknown as { _socket: Socket })._socket;
    connection.setNoDelay(true);
    for (const piece of pieces) {
      await new Promise<void>((resolve) => connection.write(piece, () => setImmediate(resolve)));
    }
  }

  const bytesOf = (bytes: Buffer) => Array.from(bytes, (byte) => Buffer.from([byte]));
  const ended = (client: TestSocket) => client.next(({ type }) => type === 'response.completed');

  it('is understood byte by byte', async () => {
    const client = await api.connect();
    await write(client, bytesOf(frame(1, turn)));
    await ended(client);
    expect(promptsOf(0)).toEqual([[{ type: 'input_text', text: 'x'.repeat(3_000) }]]);
  });

  it('is understood in fragments of a byte with pings and nothing between them', async () => {
    const client = await api.connect();
    const pieces = Array.from(turn.subarray(0, 1_500), (byte, at) =>
      frame(at === 0 ? 1 : 0, Buffer.from([byte]), { fin: false, mask: [at & 0xff, 7, 8, 9] }),
    );
    const ping = frame(9, Buffer.from('here'));
    const rest = frame(0, turn.subarray(1_500));
    await write(client, [
      ...pieces.slice(0, 700),
      ping,
      frame(0, Buffer.alloc(0), { fin: false }),
      ...pieces.slice(700),
      ...bytesOf(ping),
      rest,
    ]);
    await ended(client);
    expect(promptsOf(0)).toEqual([[{ type: 'input_text', text: 'x'.repeat(3_000) }]]);
  });

  it('has its bytes counted while they arrive, and takes no more than twice their size', async () => {
    const client = await api.connect();
    const all = frame(1, turn);
    await write(client, bytesOf(all.subarray(0, 2_000)));
    await eventually(() => api.bodyBudget.held >= 1_990);
    expect(api.bodyBudget.held).toBeLessThanOrEqual(4_096);
    await write(client, [all.subarray(2_000)]);
    await ended(client);
    await eventually(() => api.bodyBudget.held === 0);
  });

  it('is refused a message of more fragments than its bytes may be', async () => {
    await api.start({ bodyBytes: 100_000, bodyBytesInFlight: 200_000 });
    const client = await api.connect();
    const empty = frame(0, Buffer.alloc(0), { fin: false });
    await write(client, [
      frame(1, Buffer.alloc(0), { fin: false }),
      Buffer.concat(Array.from({ length: 200 }, () => empty)),
    ]);
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({ status: 413 });
    expect((await client.closed).code).toBe(1009);
  });

  it('is told at its header that a frame is too large', async () => {
    const client = await api.connect();
    await write(client, [Buffer.from([0x81, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])]);
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({ status: 413 });
    expect((await client.closed).code).toBe(1009);
  });

  it.each([
    ['no mask', Buffer.from([0x81, 1, 0x20])],
    ['a reserved bit', Buffer.from([0xc1, 0x81, 0, 0, 0, 0, 0x20])],
    ['an unknown opcode', Buffer.from([0x83, 0x80, 0, 0, 0, 0])],
    ['a fragment of nothing', Buffer.from([0x80, 0x80, 0, 0, 0, 0])],
    ['a message within another', Buffer.from([0x01, 0x81, 0, 0, 0, 0, 0x20, 0x81, 0x80, 0, 0, 0, 0])],
    ['a ping in fragments', Buffer.from([0x09, 0x80, 0, 0, 0, 0])],
    ['a ping that is too long', Buffer.from([0x89, 0xfe, 0, 126, 0, 0, 0, 0])],
  ])('is closed with a protocol error for %s', async (_, bytes) => {
    const client = await api.connect();
    await write(client, [bytes]);
    expect((await client.closed).code).toBe(1002);
    await eventually(() => api.sockets.size === 0 && api.bodyBudget.held === 0);
  });

  it.each([
    ['pings', 9],
    ['pongs', 10],
  ])('may send a few %s at once, which are answered, and is closed for many', async (_, opcode) => {
    const client = await api.connect();
    let pongs = 0;
    client.socket.on('pong', () => (pongs += 1));
    const control = frame(opcode, Buffer.from('here'));
    await write(client, [Buffer.concat(Array.from({ length: 60 }, () => control))]);
    expect((await client.turn(create)).at(-1)?.type).toBe('response.completed');
    expect(pongs).toBe(opcode === 9 ? 60 : 0);
    await write(client, [Buffer.concat(Array.from({ length: 20_000 }, () => control))]);
    expect(await client.closed).toMatchObject({ code: 1008, reason: 'too many control frames' });
  });

  it('has one message read in a turn of the event loop, and the others have theirs', async () => {
    const client = await api.connect({ key: apiKeys.second });
    let turnOfLoop = 0;
    let immediate = setImmediate(function count() {
      turnOfLoop += 1;
      immediate = setImmediate(count);
    });
    const turns: number[] = [];
    const prepare = api.json.prepareFrame.bind(api.json);
    vi.spyOn(api.json, 'prepareFrame').mockImplementation((...given) => {
      turns.push(turnOfLoop);
      return prepare(...given);
    });
    const wrongFrame = frame(1, Buffer.from('[]'));
    await write(client, [Buffer.concat(Array.from({ length: 200 }, () => wrongFrame))]);
    await eventually(() => client.frames.length === 200);
    clearImmediate(immediate);
    expect(new Set(turns).size).toBe(200);
  });
});

describe('a connection', () => {
  it('has so many turns waiting and no more', async () => {
    const { goOn } = api.worker.hold();
    const client = await api.connect();
    for (let at = 0; at < 34; at += 1) client.send({ type: 'response.create', ...create });
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({
      status: 429,
      error: { code: 'too_many_queued_requests' },
    });
    goOn.open();
    await eventually(() => client.frames.filter(({ type }) => type === 'response.completed').length === 33);
    expect(client.frames.filter(({ type }) => type === 'error')).toHaveLength(1);
  });

  it('has turns under way as far as its tenant may have requests open', async () => {
    await api.start({ mostCallers: 2 });
    const { goOn } = api.worker.hold('Hello');
    const client = await api.connect();
    client.send({ type: 'response.create', ...create, stream_id: 'a' });
    await client.next(({ type }) => type === 'response.output_text.delta');
    client.send({ type: 'response.create', ...create, stream_id: 'b' });
    expect(await client.next(({ type }) => type === 'error')).toMatchObject({
      status: 429,
      error: { code: 'rate_limit_exceeded' },
    });
    goOn.open();
    await client.next(({ type }) => type === 'response.completed');
    client.send({ type: 'response.create', ...create, stream_id: 'b' });
    await client.next((each) => each['stream_id'] === 'b' && each.type === 'response.completed');
  });

  it('that has nothing to do ends with a key that was revoked, and those of other keys stay', async () => {
    await api.start({ socketTimes: { pingMs: 300 } });
    const [first, second] = [await api.connect(), await api.connect({ key: apiKeys.second })];
    const keys = api.settings.keys.filter(({ name }) => name !== 'first');
    api.live.replace({ keys, limits: api.live.limits });
    expect((await first.closed).code).toBe(1008);
    expect(errorOf(first.frames)).toMatchObject({ code: 'invalid_api_key' });
    expect((await second.turn(create)).at(-1)?.type).toBe('response.completed');
  });

  it('stays as long as nobody can tell whether its key was revoked', async () => {
    await api.start({ socketTimes: { pingMs: 300 } });
    const client = await api.connect();
    api.live.replace({ keys: [], limits: api.live.limits, isComplete: false });
    expect(errorOf(await client.turn(create))).toMatchObject({ code: 'server_is_overloaded' });
    api.live.replace({ keys: api.settings.keys, limits: api.live.limits });
    expect((await client.turn(create)).at(-1)?.type).toBe('response.completed');
  });

  it('lets the turn go on that its key began before it was revoked, and takes none of those that wait', async () => {
    await api.start({ socketTimes: { pingMs: 300 } });
    const { goOn } = api.worker.hold('Hello');
    const client = await api.connect();
    for (let at = 0; at < 2; at += 1) client.send({ type: 'response.create', ...create });
    await client.next(({ type }) => type === 'response.output_text.delta');
    api.live.replace({ keys: [], limits: api.live.limits });
    await client.next(({ type }) => type === 'error');
    goOn.open();
    await client.next(({ type }) => type === 'response.completed');
    expect((await client.closed).code).toBe(1008);
    expect(api.worker.runs).toHaveLength(1);
  });

  it('ends with a key that was revoked', async () => {
    const client = await api.connect();
    api.live.replace({
      keys: api.settings.keys.filter(({ name }) => name !== 'first'),
      limits: api.live.limits,
    });
    expect(errorOf(await client.turn(create))).toMatchObject({ code: 'invalid_api_key' });
    expect((await client.closed).code).toBe(1008);
  });

  it('obeys the limits of its tenant', async () => {
    const client = await api.connect({ key: apiKeys.limited });
    await client.turn(create);
    await client.turn(create);
    const refused = await client.turn(create);
    expect(refused).toMatchObject([
      { status: 429, error: { code: 'rate_limit_exceeded' }, headers: { 'x-ratelimit-limit-requests': '2' } },
    ]);
  });

  it('lasts so long and no longer, and lets its turn end', async () => {
    const lifetimeMs = 3_600_001; // no other timer takes so long
    await api.start({ socketTimes: { lifetimeMs } });
    const { goOn } = api.worker.hold('Hello');
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const client = await api.connect();
    const [passes] = timers.mock.calls.find(([, ms]) => ms === lifetimeMs) ?? [];
    timers.mockRestore();
    client.send({ type: 'response.create', ...create });
    await client.next(({ type }) => type === 'response.output_text.delta');
    passes?.();
    const told = await client.next(({ type }) => type === 'error');
    expect(told).toMatchObject({ status: 400, error: { code: 'websocket_connection_limit_reached' } });
    goOn.open();
    await client.next(({ type }) => type === 'response.completed');
    expect((await client.closed).code).toBe(1000);
  });

  it('that has nothing to do is closed, so that its client opens another when it needs one', async () => {
    await api.start({ socketTimes: { pingMs: 50, idleMs: 100 } });
    const client = await api.connect();
    expect((await client.closed).code).toBe(1001);
  });

  it('that shows no sign of life is cut', async () => {
    await api.start({ socketTimes: { pingMs: 50 } });
    const client = await api.connect();
    client.socket.pause();
    await eventually(() => api.sockets.size === 0);
    client.socket.terminate();
  });

  it('that begins a frame and does not go on is cut', async () => {
    await api.start({ socketTimes: { pingMs: 100 } });
    const client = await api.connect();
    client.socket.send('{"type":', { fin: false });
    expect((await client.closed).code).toBe(1006);
  });

  it('of a process that stops finishes its turns, and its client goes elsewhere', async () => {
    await api.start({ isKept: false });
    const { goOn } = api.worker.hold('Hello');
    const [busy, idle] = [await api.connect(), await api.connect()];
    busy.send({ type: 'response.create', ...create });
    busy.send({ type: 'response.create', ...create });
    await busy.next(({ type }) => type === 'response.output_text.delta');
    api.sockets.drain();
    expect((await idle.closed).code).toBe(1012);
    expect(await busy.next(({ type }) => type === 'error')).toMatchObject({ status: 503 });
    goOn.open();
    await busy.next(({ type }) => type === 'response.completed');
    expect((await busy.closed).code).toBe(1012);
  });
});
