import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { open, readFrames, send } from './wire.ts';

let server: Server;

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // It listens on a port.
}

const request = { path: '/', key: 'sk-test', withinMs: 100 };

it.each<[string, RequestListener]>([
  ['never', () => undefined],
  ['in part', (_, response) => response.writeHead(200).write('Well')],
])('gives up a request that is answered %s', async (_, listener) => {
  await expect(send(await serve(listener), request)).rejects.toThrow();
});

it('gives up a stream that falls silent', async () => {
  const url = await serve((_, response) => response.writeHead(200).write('event: x\ndata: {}\n\n'));
  await expect(readFrames(await open(url, request))).rejects.toThrow();
});

it('rejects for an answer that is cut in the middle', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('Well', () => response.destroy());
  });
  await expect(send(url, { ...request, withinMs: 60_000 })).rejects.toThrow();
});

it('returns an answer that comes in time, and cuts nothing later', async () => {
  const url = await serve((_, response) => response.end('Well'));
  const answer = await send(url, { ...request, withinMs: 60_000 });
  expect(answer).toMatchObject({ status: 200, text: 'Well' });
});
