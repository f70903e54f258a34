import { connect } from 'node:net';
import { eventually } from '@sluice/testing';
import { expect, it, onTestFinished } from 'vitest';
import { keepTestApis } from './kept-api.ts';
import { apiKeys } from './test-api.ts';

const takeTestApi = keepTestApis();

const bodyBytes = 1_024;

it.each([
  ['a length that is too large', [`Content-Length: 2000\r\n\r\n{`], 'x'.repeat(1_999)],
  [
    'chunks that are too many',
    ['Transfer-Encoding: chunked\r\n\r\n', chunk(1_025)],
    `${chunk(1_025)}0\r\n\r\n`,
  ],
])('the answer to %s reaches a caller that goes on writing', async (_what, first, rest) => {
  const api = await takeTestApi({ bodyBytes });
  onTestFinished(() => api.stop());
  const { hostname, port } = new URL(await api.listen());
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  const statuses = () => text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? [];

  const head = ['POST /v1/responses HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${apiKeys.first}`];
  socket.write([...head, 'Content-Type: application/json', first.join('')].join('\r\n'));
  await eventually(() => statuses().length === 1);
  socket.write(rest);
  socket.write(['GET /healthz HTTP/1.1', 'Host: localhost', '', ''].join('\r\n'));
  await eventually(() => statuses().length === 2);
  expect(statuses()).toEqual(['413', '200']);
});

function chunk(bytes: number): string {
  return `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;
}
