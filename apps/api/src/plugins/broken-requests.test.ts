import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { within } from '@sluice/testing';
import { expect, it } from 'vitest';
import { answerBrokenRequest } from './broken-requests.ts';

it('A client that is told it was too slow, and leaves its side open, keeps no connection', async () => {
  const server = createServer({ allowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [served] = (await within(once(server, 'connection'))) as [Socket];
  const closed = once(served, 'close');
  const error = Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  answerBrokenRequest(error, served.resume(), 1);
  expect(await text(client)).toMatch(/^HTTP\/1\.1 408 /);
  await within(closed);
  client.destroy();
  server.close();
});
