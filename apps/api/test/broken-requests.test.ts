import { connect } from 'node:net';
import { within } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { oneTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = oneTestApi();
let port: number;

beforeAll(async () => {
  // The limits of a slow client, shortened: nothing else about them changes.
  Object.assign(api.app.server, {
    headersTimeout: 200,
    requestTimeout: 400,
    connectionsCheckingInterval: 50,
  });
  port = Number(new URL(await api.listen()).port);
});

interface RawAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
  text: string;
}

/** Sends bytes and reads what comes until the server closes the connection. */
async function send(...lines: string[]): Promise<RawAnswer> {
  const socket = connect(port, '127.0.0.1');
  const closed = new Promise<string>((resolve) => {
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('error', () => undefined); // A reset after the answer is as good as an end.
    socket.on('close', () => resolve(text));
  });
  socket.write(lines.join('\r\n'), 'latin1');
  const text = await within(closed);
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...headerLines] = head.split('\r\n');
  const headers = new Map(
    headerLines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n'), text };
}

const body = JSON.stringify({ model, input: 'Hi' });
const post = 'POST /v1/responses HTTP/1.1';
const host = 'Host: localhost';
const auth = `Authorization: Bearer ${apiKeys.first}`;
const json = 'Content-Type: application/json';
const close = 'Connection: close';
const length = `Content-Length: ${body.length}`;

function expectEnvelope({ headers, body: answered, status }: RawAnswer, expected: number, code: string) {
  expect(status).toBe(expected);
  expect(JSON.parse(answered)).toEqual({
    error: { type: 'invalid_request_error', code, param: null, message: expect.any(String) },
  });
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('x-request-id')).toMatch(/^req_/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('connection')).toBe('close');
}

describe('a request whose framing is broken', () => {
  it.each<[string, string[]]>([
    ['two hosts', [post, host, 'Host: elsewhere', auth, json, length, close, '', body]],
    ['two hosts that are the same', [post, host, host, auth, json, length, close, '', body]],
    ['two credentials', [post, host, auth, `Authorization: Bearer x`, json, length, close, '', body]],
    ['no host', [post, auth, json, length, close, '', body]],
    ['a length and chunks', [post, host, auth, json, length, 'Transfer-Encoding: chunked', '', '0', '', '']],
    ['two lengths', [post, host, auth, json, length, 'Content-Length: 1', '', body]],
    ['a length beyond all numbers', [post, host, auth, json, 'Content-Length: 1e99', '', body]],
    ['a length of many digits', [post, host, auth, json, `Content-Length: ${'9'.repeat(40)}`, '', body]],
    ['a negative length', [post, host, auth, json, 'Content-Length: -1', '', body]],
    ['an encoding that hides', [post, host, auth, json, 'Transfer-Encoding: xchunked', '', '0', '', '']],
    [
      'an encoding in two lines',
      [post, host, auth, json, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity', '', '0', '', ''],
    ],
    ['a chunk that has no size', [post, host, auth, json, 'Transfer-Encoding: chunked', '', 'zz', '', '']],
    ['NUL in a header', [post, host, auth, 'X-A: a\0b', json, length, '', body]],
    ['a folded header', [post, host, auth, 'X-A: a', ' b', json, length, '', body]],
    ['a space before the colon', [post, host, auth, 'Content-Type : application/json', length, '', body]],
    ['a header without a name', [post, host, auth, ': x', json, length, '', body]],
    ['a bare line feed', [`${post}\n${host}\n${auth}\n\n`]],
    ['no version', ['GET /v1/models', '', '']],
    ['no version and a credential', ['GET /v1/models', host, auth, '', '']],
    ['another version', ['GET /v1/models HTTP/3.7', host, auth, '', '']],
    ['the preface of HTTP/2', ['PRI * HTTP/2.0', '', 'SM', '', '']],
    ['a method that is none', ['GE\0T /v1/models HTTP/1.1', host, auth, '', '']],
    ['the handshake of TLS', ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03']],
  ])('%s is refused, and the connection ends', async (_what, lines) => {
    expectEnvelope(await send(...lines), 400, 'invalid_request');
  });

  it('with headers that are too large is refused', async () => {
    const answer = await send(post, host, auth, `X-A: ${'a'.repeat(40_000)}`, '', '');
    expectEnvelope(answer, 431, 'headers_too_large');
  });

  it('with a path that is too long is refused', async () => {
    const answer = await send(`GET /v1/models?${'a'.repeat(40_000)} HTTP/1.1`, host, auth, '', '');
    expectEnvelope(answer, 431, 'headers_too_large');
  });

  it('with 16 KiB of headers is taken', async () => {
    const answer = await send(post, host, auth, `X-A: ${'a'.repeat(16_384)}`, json, length, close, '', body);
    expect(answer.status).toBe(200);
  });

  it('that expects what nobody offers is refused', async () => {
    const answer = await send(post, host, auth, json, length, 'Expect: the-unexpected', close, '', body);
    expectEnvelope(answer, 400, 'invalid_request');
  });

  it('that expects to be told to go on is told', async () => {
    const answer = await send(post, host, auth, json, length, 'Expect: 100-continue', close, '', body);
    expect(answer.text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  it('never runs anything, nor hides another request behind it', async () => {
    const before = api.worker.runs.length;
    const hidden = `${post}\r\n${host}\r\n${auth}\r\n${json}\r\n${length}\r\n\r\n${body}`;
    const answer = await send(
      post,
      host,
      auth,
      json,
      `Content-Length: ${body.length}`,
      'Transfer-Encoding: chunked',
      '',
      '0',
      '',
      hidden,
    );
    expect(answer.status).toBe(400);
    expect(answer.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(api.worker.runs).toHaveLength(before);
  });
});

describe('a client that is too slow', () => {
  it('with its headers is told so', async () => {
    expectEnvelope(await send(post, host), 408, 'request_timeout');
  });

  it('with its body is told so', async () => {
    expectEnvelope(await send(post, host, auth, json, length, '', '{'), 408, 'request_timeout');
  });
});

describe('a client that leaves in the middle of its request', () => {
  it('harms nobody', async () => {
    for (let cut = 1; cut < 100; cut += 7) {
      const socket = connect(port, '127.0.0.1');
      const request = [post, host, auth, json, length, '', body].join('\r\n').slice(0, cut * 3);
      await new Promise<void>((resolve) => socket.end(request, resolve));
      socket.destroy();
    }
    expect((await api.create({ model, input: 'Hi' })).status).toBe(200);
  });
});
