import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { eventually, latch } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { guardedLookup } from '../src/guarded-lookup.ts';
import { type LookupAll, oneAtATime } from '../src/one-lookup.ts';
import { sendEvent, type SendEventOptions } from '../src/send-event.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A server that does something with each connection once it has sent something. Returns its port. */
async function listening(serve: (socket: Socket) => unknown): Promise<number> {
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    socket.once('data', () => serve(socket));
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port; // It listens on a port.
}

const send = (url: string, options: Partial<SendEventOptions> = {}, tenant = 'team-a') =>
  sendEvent(
    { tenant, url, id: 'evt_1', timestamp: 1_700_000_000, body: '{"é":1}', secrets: ['whsec_c2VjcmV0'] },
    { lookup: guardedLookup({ allowPrivate: true }), timeoutMs: 60_000, userAgent: 'test', ...options },
  );

const sendTo = async (serve: (socket: Socket) => unknown, options?: Partial<SendEventOptions>) =>
  send(`http://127.0.0.1:${await listening(serve)}/hook`, options);

/** The first byte of TLS. */
const handshake = 0x16;

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** A key and a certificate that nobody has signed. */
function selfSigned(): { key: string; cert: string } {
  const flags = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=hooks', '-keyout', '-', '-out', '-'];
  const { stdout } = spawnSync('openssl', ['req', ...flags], { encoding: 'utf8' });
  return { key: stdout, cert: stdout };
}

const answering = (head: string) => (socket: Socket) => socket.write(`HTTP/1.1 ${head}\r\n\r\n`);

describe('an event that is sent', () => {
  it.each([
    ['204 No Content', { status: 204 }],
    ['302 Found\r\nlocation: http://127.0.0.1:1/', { status: 302 }],
    // Without an end: nobody reads the body.
    ['200 OK\r\ncontent-length: 1000000\r\n\r\nx', { status: 200 }],
    ['503 Busy\r\nretry-after: 7', { status: 503, retryAfterMs: 7_000 }],
    ['503 Busy\r\nretry-after: 9999999', { status: 503, retryAfterMs: 86_400_000 }],
    ['503 Busy\r\nretry-after: soon', { status: 503 }],
    ['103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content', { status: 204 }],
    ['101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c', { fault: 'no connection' }],
    ['0 that is no answer', { fault: 'no connection' }],
    [`200 OK\r\nx: ${'x'.repeat(100_000)}`, { fault: 'no connection' }],
  ])('and answered with %j', async (head, answer) => {
    expect(await sendTo(answering(head))).toEqual(answer);
  });

  it('has a connection of its own, which ends with the answer, and says its length in bytes', async () => {
    const [asked, closed] = [latch<string>(), latch()];
    const stopping = new AbortController();
    const serve = (socket: Socket) => {
      socket.once('close', () => closed.open());
      stopping.abort();
    };
    await sendTo(serve, { signal: stopping.signal });
    await closed.wait();
    const port = await listening((socket) => answering('204 No Content')(socket));
    servers.at(-1)?.on('connection', (socket: Socket) => {
      socket.once('data', (piece) => asked.open(String(piece)));
    });
    await send(`http://127.0.0.1:${port}/hook`);
    const request = await asked.wait();
    expect(request).toMatch(/^POST \/hook HTTP\/1\.1\r\n/);
    expect(request.toLowerCase()).toContain('connection: close');
    expect(request).toContain('content-length: 8\r\n');
  });

  it('finds no connection where nobody listens, and where the connection ends', async () => {
    expect(await send('http://127.0.0.1:1/')).toEqual({ fault: 'no connection' });
    expect(await sendTo((socket) => socket.destroy())).toEqual({ fault: 'no connection' });
    expect(await sendTo((socket) => socket.end())).toEqual({ fault: 'no connection' });
  });

  it('is not waited for longer than it may take, and not when the process stops', async () => {
    const silent = () => undefined;
    expect(await sendTo(silent, { timeoutMs: 20 })).toEqual({ fault: 'no answer in time' });
    const stopping = new AbortController();
    expect(await sendTo(() => stopping.abort(), { signal: stopping.signal })).toEqual({
      fault: 'no connection',
    });
  });

  it('goes by TLS to an https URL', async () => {
    const first = latch<number | undefined>();
    const port = await listening((socket) => socket.destroy());
    servers.at(-1)?.on('connection', (socket: Socket) => {
      socket.once('data', (piece: Buffer) => first.open(piece[0]));
    });
    expect(await send(`https://127.0.0.1:${port}/`)).toEqual({ fault: 'no connection' });
    expect(await first.wait()).toBe(handshake);
  });

  it.skipIf(!hasOpenssl)('goes to nobody without a good certificate (needs openssl)', async () => {
    const { key, cert } = selfSigned();
    const server = createTlsServer({ key, cert }, answering('204 No Content'));
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo; // It listens on a port.
    expect(await send(`https://127.0.0.1:${port}/`)).toEqual({ fault: 'no valid certificate' });
  });

  it.each([
    [[], { fault: 'no connection' }],
    [['127.0.0.1'], { fault: 'the address is not a public one' }],
    [['203.0.113.1', '::1'], { fault: 'the address is not a public one' }],
  ])('goes nowhere when its name has the addresses %j', async (addresses, answer) => {
    const lookup = guardedLookup({
      allowPrivate: false,
      lookup: (_host, _options, done) =>
        done(
          null,
          addresses.map((address) => ({ address, family: 4 })),
        ),
    });
    expect(await send('http://hooks.example/', { lookup })).toEqual(answer);
  });

  it('is told that its name does not resolve', async () => {
    const lookup = guardedLookup({
      allowPrivate: true,
      lookup: (_host, _options, done) => done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []),
    });
    expect(await send('http://hooks.example/', { lookup })).toEqual({ fault: 'the name does not resolve' });
  });

  it('waits for its name while another lookup goes on, and no longer than it may take', async () => {
    const { asked, lookup } = silentNames();
    const late = { fault: 'no answer in time' };
    expect(await send('http://silent.example/', { lookup, timeoutMs: 20 })).toEqual(late);
    expect(await send('http://other.example/', { lookup, timeoutMs: 20 })).toEqual(late);
    // The first lookup holds its thread still.
    expect(asked.map(({ host }) => host)).toEqual(['silent.example']);
    const third = send('http://third.example/', { lookup });
    asked[0]?.answer();
    await eventually(() =>
      expect(asked.map(({ host }) => host)).toEqual(['silent.example', 'third.example']),
    );
    asked[1]?.answer();
    expect(await third).toEqual({ fault: 'the name does not resolve' });
  });

  it('waits for one name of each other tenant, however many those have', async () => {
    const { asked, wanted, lookup } = silentNames();
    const theirs = [1, 2, 3].map((at) => send(`http://their-${at}.example/`, { lookup }, 'team-b'));
    const own = send('http://own.example/', { lookup });
    await eventually(() => expect(wanted).toHaveLength(4));
    for (let at = 0; at < 4; at += 1) asked[at]?.answer();
    await Promise.all([...theirs, own]);
    expect(asked.map(({ host }) => host)).toEqual([
      'their-1.example',
      'their-2.example',
      'own.example',
      'their-3.example',
    ]);
  });
});

/** A lookup whose names resolve to nothing, and not before the test says so. */
function silentNames() {
  const asked: { host: string; answer: () => void }[] = [];
  const silent: LookupAll = (host, _options, done) =>
    void asked.push({
      host,
      answer: () => done(Object.assign(new Error('none'), { code: 'ENOTFOUND' }), []),
    });
  const guarded = guardedLookup({ allowPrivate: true, lookup: oneAtATime(silent) });
  const wanted: string[] = [];
  const lookup: typeof guarded = (host, options, done) => {
    wanted.push(host);
    guarded(host, options, done);
  };
  return { asked, wanted, lookup };
}
