import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { eventually, within } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { isBusy, serveInTurn } from './requests-in-turn.ts';

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const clean of cleanups.splice(0).toReversed()) clean();
});

interface Served {
  path: string;
  response: ServerResponse;
  /** The turn of the event loop in which it began. */
  turn: number;
}

/** A server, a client of it, and what is served. With `answers` each request is answered at once. */
async function serving({ answers = true, inTurn = true } = {}) {
  const served: Served[] = [];
  let turn = 0;
  const server: Server = createServer(({ url = '' }, response) => {
    served.push({ path: url, response, turn });
    if (answers) response.end(url);
  });
  if (inTurn) serveInTurn(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  client.on('data', (data) => {
    received += String(data);
  });
  client.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  await eventually(() => sockets.length === 1);
  const ticking = setInterval(() => undefined, 1_000);
  const count = () => {
    turn += 1;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  cleanups.push(() => {
    clearInterval(ticking);
    clearImmediate(immediate);
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
  return {
    client,
    closed,
    served,
    connection: () => sockets[0] as Socket, // see above
    answered: () => [...received.matchAll(/\/\d+$|\/\d+(?=HTTP)/gm)].map(String),
  };
}

const requests = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => `GET /${at + from} HTTP/1.1\r\nHost: a\r\n\r\n`).join('');
const paths = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `/${at + from}`);

/** How many requests Node has made of what it read. */
function countParsed(): () => number {
  let parsed = 0;
  const count = () => {
    parsed += 1;
  };
  subscribe('http.server.request.start', count);
  cleanups.push(() => unsubscribe('http.server.request.start', count));
  return () => parsed;
}

describe('requests that are sent before the answer to another one', () => {
  it('are answered in order, each in a turn of its own of the event loop', async () => {
    const { client, served, answered } = await serving();
    client.write(requests(15));
    await eventually(() => answered().length === 15);
    expect(answered()).toEqual(paths(15));
    expect(new Set(served.map(({ turn }) => turn)).size).toBe(15);
    client.write(requests(15, 15));
    await eventually(() => answered().length === 30);
  });

  it('without that are served in one turn', async () => {
    const { client, served } = await serving({ inTurn: false });
    client.write(requests(16));
    await eventually(() => served.length === 16);
    expect(new Set(served.map(({ turn }) => turn)).size).toBe(1);
  });

  it('wait for it', async () => {
    const { client, served, answered, connection } = await serving({ answers: false });
    client.write(requests(3));
    await eventually(() => served.length === 1);
    expect(isBusy(connection())).toBe(true);
    for (let at = 0; at < 3; at += 1) {
      await eventually(() => served.length === at + 1);
      served[at]?.response.end(`/${at}`);
    }
    await eventually(() => answered().length === 3 && !isBusy(connection()));
  });

  it('are answered up to so many, and no more of them are made of what was read', async () => {
    const parsed = countParsed();
    const { client, closed, answered } = await serving();
    client.write(requests(2_000));
    await within(closed);
    expect(answered()).toEqual(paths(16));
    expect(parsed()).toBe(16);
  });

  it('without that are all made and served', async () => {
    const parsed = countParsed();
    const { client, answered } = await serving({ inTurn: false });
    client.write(requests(1_000));
    await eventually(() => answered().length === 1_000);
    expect(parsed()).toBe(1_000);
  });

  it('are not served for a client that has left', async () => {
    const { client, served, connection } = await serving({ answers: false });
    client.write(requests(3));
    await eventually(() => served.length === 1);
    client.destroy();
    await eventually(() => connection().destroyed && !isBusy(connection()));
    await new Promise((resolve) => setImmediate(resolve));
    expect(served).toHaveLength(1);
  });
});
