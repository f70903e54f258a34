import {
  listInputItemsQuerySchema,
  listResponsesQuerySchema,
  parsePart,
  retrieveResponseQuerySchema,
} from '@sluice/contract';
import { type BadRequest, jsonHeaders, type Verdict, verdictFrom } from './bad-request.ts';
import type { Random } from './random.ts';

const unknownId = `create-response_${'A'.repeat(32)}`;
const oddIds = [
  unknownId,
  'create-response_short',
  `create-response_${'A'.repeat(65)}`,
  'resp_123',
  '__proto__',
  '%00',
  '%0d%0aX: y',
  '%2e%2e%2f%2e%2e%2fmetrics',
  '*',
  '%F0%9F%98%80',
  '%ff',
  'a'.repeat(2_000),
] as const;

/** A read with a query that is wrong, or an id that nobody has. */
export function brokenQuery(random: Random, key: string): BadRequest {
  const id = random.pick(oddIds);
  const [path, schema] = random.pick<[string, Parameters<typeof parsePart>[0]]>([
    ['/v1/responses', listResponsesQuerySchema],
    [`/v1/responses/${id}/input_items`, listInputItemsQuerySchema],
    [`/v1/responses/${id}`, retrieveResponseQuerySchema],
  ]);
  const query = new URLSearchParams();
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const name = random.pick([
      'limit',
      'order',
      'after',
      'include',
      'include[]',
      'stream',
      'starting_after',
      'unknown',
    ]);
    query.append(
      name,
      random.pick([
        '',
        '0',
        '-1',
        '101',
        '1e2',
        'NaN',
        'asc',
        'true',
        'TRUE',
        '99999999999999999999',
        unknownId,
        '\0',
        '[]',
        'x'.repeat(300),
      ]),
    );
  }
  const read: Record<string, string | string[]> = {};
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    read[name] = values.length === 1 ? (values[0] ?? '') : values;
  }
  const verdict = verdictFrom(() => parsePart(schema, read));
  return {
    what: `GET ${path.slice(0, 80)}?${query}`.slice(0, 200),
    method: 'GET',
    path: `${path}?${query}`,
    headers: [['authorization', `Bearer ${key}`]],
    body: undefined,
    // An id that nobody has may be refused before or after its query.
    verdict: path === '/v1/responses' ? verdict : { kind: 'refused' },
  };
}

/** Methods, paths and headers that are wrong. */
export function brokenHttp(random: Random, key: string): BadRequest {
  const good = Buffer.from(JSON.stringify({ model: 'simulator', input: 'Hi. [[sluice: tokens=1]]' }));
  const post = { method: 'POST', path: '/v1/responses', headers: jsonHeaders(key), body: good };
  const withHeader = (name: string, value: string) => ({
    ...post,
    headers: [...jsonHeaders(key), [name, value] as [string, string]],
  });
  const instead = (headers: [string, string][]) => ({ ...post, headers });
  const authorization: [string, string] = ['authorization', `Bearer ${key}`];
  const get = { method: 'GET', headers: [authorization], body: undefined };
  type Made = Omit<BadRequest, 'verdict' | 'what'>;
  const refused: Verdict = { kind: 'refused' };
  const [what, made, verdict = refused] = random.pick<() => [string, Made, Verdict?]>([
    () => ['no key', instead([['content-type', 'application/json']])],
    () => [
      'a wrong key',
      instead([
        [
          'authorization',
          random.pick([
            'Bearer',
            'Bearer ',
            'Bearer x y',
            'Basic abc',
            `bearer${key}`,
            `Bearer ${key}x`,
            `Bearer ${'k'.repeat(600)}`,
            'Bearer \u00fc',
          ]),
        ],
        ['content-type', 'application/json'],
      ]),
    ],
    () => [
      'two keys',
      instead([authorization, ['authorization', 'Bearer other'], ['content-type', 'application/json']]),
      { kind: 'open' },
    ],
    () => [
      'another content type',
      instead([
        authorization,
        [
          'content-type',
          random.pick([
            'text/plain',
            'application/xml',
            'multipart/form-data',
            'application/json; charset=utf-16',
            'application/jsonx',
            'x',
          ]),
        ],
      ]),
    ],
    () => ['no content type', instead([authorization])],
    () => ['a compressed body', withHeader('content-encoding', random.pick(['gzip', 'br', 'deflate', 'x']))],
    () => [
      'a bad idempotency key',
      withHeader('idempotency-key', random.pick(['', 'a b', 'k'.repeat(256), '\u00fc', 'a\tb'])),
      { kind: 'refused', param: 'Idempotency-Key' },
    ],
    () => [
      'an odd request id',
      withHeader('x-request-id', random.pick(['', 'a b', 'x'.repeat(300), '<script>', '\u00fc'])),
      { kind: 'open' },
    ],
    () => [
      'an upgrade',
      {
        ...get,
        path: '/v1/responses',
        headers: [authorization, ['upgrade', 'websocket'], ['connection', 'upgrade']],
      },
      { kind: 'open' },
    ],
    () => ['headers that are too large', withHeader('x-large', 'l'.repeat(70_000))],
    () => [
      'very many headers',
      {
        ...post,
        headers: [
          ...jsonHeaders(key),
          ...Array.from({ length: 300 }, (_, at): [string, string] => [`x-${at}`, 'y']),
        ],
      },
      { kind: 'open' },
    ],
    () => ['a header with a bad name', withHeader('x y', '1')],
    () => ['two lengths', withHeader('content-length', '3')],
    () => ['a length that is none', withHeader('content-length', '-1')],
    () => ['an unknown transfer encoding', withHeader('transfer-encoding', 'x')],
    () => ['an expectation', withHeader('expect', 'what'), { kind: 'open' }],
    () => [
      'another method',
      {
        ...get,
        method: random.pick(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK']),
        path: '/v1/responses',
      },
    ],
    () => [
      'a method that does not exist',
      { ...get, method: random.pick(['FOO', 'get', 'G\u00cbT', 'POST\t']), path: '/v1/responses' },
    ],
    () => [
      'an unknown path',
      {
        ...get,
        path: random.pick([
          '/',
          '/v1',
          '/v2/responses',
          '/v1/responses/',
          '//v1/responses',
          '/v1//responses',
          '/metrics',
          '/queues',
          '/v1/../metrics',
          '/v1/%',
          '/v1/responses/%',
          '*',
          '/v1/models/%2e%2e',
        ]),
      },
      { kind: 'open' },
    ],
    () => ['a very long path', { ...get, path: `/v1/responses/${'x'.repeat(9_000)}` }],
    () => [
      'an id that nobody has',
      { ...get, method: random.pick(['GET', 'DELETE']), path: `/v1/responses/${random.pick(oddIds)}` },
    ],
    () => [
      'a cancel of what nobody has',
      { ...get, method: 'POST', path: `/v1/responses/${random.pick(oddIds)}/cancel` },
    ],
    () => ['a model that nobody has', { ...get, path: `/v1/models/${random.pick(oddIds)}` }],
  ])();
  return { ...made, what, verdict };
}
