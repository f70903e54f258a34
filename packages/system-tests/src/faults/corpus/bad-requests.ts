import { createHash } from 'node:crypto';
import {
  createResponseSchema,
  listInputItemsQuerySchema,
  listResponsesQuerySchema,
  parseCreateResponse,
  parsePart,
  retrieveResponseQuerySchema,
  ServiceError,
} from '@sluice/contract';
import { type JsonSchema, replaced, sample, spotsOf, wrongValue } from './json-schema.ts';
import { choicesFrom, type Random } from './random.ts';

/** What the service may say to a request. */
export type Verdict =
  /** It must be refused, and the error names this part of the request; `undefined` where any error will do. */
  | { kind: 'refused'; param?: string | null }
  /** Nothing is wrong with its form. What comes of it is a matter of the service. */
  | { kind: 'open' };

export interface BadRequest {
  /** What is wrong with it, for the report. */
  what: string;
  method: string;
  path: string;
  /** Names and values as they are sent, in order; a name may come twice. */
  headers: [string, string][];
  body: Buffer | undefined;
  verdict: Verdict;
}

/**
 * Requests without end, the same for the same seed and each of them once. Most are wrong; what is odd but valid is among
 * them. The key is that of the tenant that sends them.
 */
export function* badRequests(seed: number, key: string): Generator<BadRequest, never> {
  const random = choicesFrom(seed);
  const seen = new Set<string>();
  for (;;) {
    const request = makeRequest(random, key);
    const { method, path, headers, body } = request;
    const hash = createHash('sha1')
      .update(JSON.stringify([method, path, headers]))
      .update(body ?? '')
      .digest('base64');
    if (!seen.has(hash)) yield request;
    seen.add(hash);
  }
}

function makeRequest(random: Random, key: string): BadRequest {
  const kind = random.next();
  if (kind < 0.7) return brokenMember(random, key);
  if (kind < 0.82) return brokenText(random, key);
  if (kind < 0.9) return brokenQuery(random, key);
  return brokenHttp(random, key);
}

/** The JSON Schema of what a client sends. zod's own method: this package does not know zod. */
const bodySchema = createResponseSchema.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;

function json(key: string): [string, string][] {
  return [
    ['authorization', `Bearer ${key}`],
    ['content-type', 'application/json'],
  ];
}

function creation(key: string, what: string, body: Buffer | string, verdict: Verdict): BadRequest {
  return {
    what,
    method: 'POST',
    path: '/v1/responses',
    headers: json(key),
    body: Buffer.from(body),
    verdict,
  };
}

/** A body that is valid but for a few members, or that has members that nobody knows. */
function brokenMember(random: Random, key: string): BadRequest {
  let body = validBody(random);
  const done: string[] = [];
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const spot = random.anyOf(spotsOf(bodySchema, body));
    if (!spot) continue;
    const where = spot.path.join('.') || 'the body';
    if (random.chance(0.15)) {
      body = replaced(body, spot.path, undefined);
      done.push(`${where} is missing`);
    } else if (random.chance(0.1)) {
      body = replaced(body, [...spot.path, random.pick(['unknown', 'constructor', 'toString', 'id', ''])], 1);
      done.push(`${where} has an unknown member`);
    } else {
      const value = wrongValue(spot, random);
      body = replaced(body, spot.path, value);
      done.push(`${where} is ${JSON.stringify(value)?.slice(0, 60)}`);
    }
  }
  const text = JSON.stringify(body) ?? '';
  return creation(key, done.join(', '), text, verdictOf(text));
}

/** A small request that the simulator answers at once. */
function validBody(random: Random): unknown {
  const { properties = {} } = bodySchema;
  const body: Record<string, unknown> = {
    model: 'simulator',
    input: random.chance(0.4) ? 'Hi. [[sluice: tokens=1]]' : sample(properties['input'] ?? {}, random),
  };
  const names = Object.keys(properties);
  for (let left = random.below(4); left > 0; left -= 1) {
    const name = random.anyOf(names) ?? 'metadata';
    // These would be refused for what they are, and hide what else is wrong.
    if (['conversation', 'prompt', 'model', 'input'].includes(name)) continue;
    body[name] = sample(properties[name] ?? {}, random);
  }
  return body;
}

/** What the contract says of a body that is JSON. */
function verdictOf(text: string): Verdict {
  if (text === '') return { kind: 'refused' };
  return verdictFrom(() => parseCreateResponse(JSON.parse(text)));
}

function verdictFrom(parse: () => unknown): Verdict {
  try {
    parse();
    return { kind: 'open' };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'refused', param: error.param };
  }
}

/** A body that is not JSON, or not JSON that anybody should take. */
function brokenText(random: Random, key: string): BadRequest {
  const text = JSON.stringify(validBody(random));
  const refused: Verdict = { kind: 'refused' };
  const [what, body, verdict = refused] = random.pick<() => [string, Buffer | string, Verdict?]>([
    () => ['cut short', text.slice(0, 1 + random.below(text.length - 1))],
    () => ['a trailing comma', text.replace(/\}$/, ',}')],
    () => ['text behind it', `${text}x`],
    () => ['a member named twice', text.replace('{', '{"model":"simulator",')],
    () => ['__proto__', text.replace('{', '{"__proto__":{"a":1},')],
    () => [
      'a number that is none',
      text.replace('{', `{"top_p":${random.pick(['NaN', 'Infinity', '+1', '01', '.5', '0x1'])},`),
    ],
    () => ['a number beyond doubles', text.replace('{', '{"temperature":1e999,')],
    () => ['single quotes', text.replaceAll('"', "'")],
    () => ['a comment', `/* */${text}`],
    () => ['a raw control character', text.replace('{', '{"user":"\u0001",')],
    () => ['a byte order mark', `\ufeff${text}`, { kind: 'open' }],
    () => ['half a surrogate pair, escaped', text.replace('{', '{"user":"\\ud800",'), { kind: 'open' }],
    () => ['bytes that are not UTF-8', withBytes(text, random)],
    () => ['UTF-16', Buffer.from(text, 'utf16le')],
    () => ['nothing', ''],
    () => ['blanks', ' \n\t'],
    () => ['a bare value', random.pick(['null', 'true', '1', '"text"', '[]', '[{}]', '{}'])],
    () => [
      'nested too deep in arrays',
      text.replace('{', `{"nested":${nested('[', ']', 62 + random.below(5_000))},`),
      { kind: 'open' },
    ],
    () => ['nested far too deep', '['.repeat(20_000)],
    () => [
      'nested too deep in objects',
      `{"model":"simulator","input":"x","nested":${nested('{"a":', '}', 70 + random.below(3_000), '1')}}`,
    ],
    () => ['very many members', `{"model":"simulator","input":"x","many":[${'1,'.repeat(200_001)}1]}`],
    () => ['a very long number', text.replace('{', `{"max_output_tokens":${'9'.repeat(400)},`)],
    () => ['a very long name', text.replace('{', `{"${'n'.repeat(20_000)}":1,`), { kind: 'open' }],
  ])();
  return creation(key, what, body, verdict);
}

function nested(open: string, close: string, depth: number, inside = ''): string {
  return `${open.repeat(depth)}${inside}${close.repeat(depth)}`;
}

/** Inside of a string, where a parser that does not look would take them. */
function withBytes(text: string, random: Random): Buffer {
  const bad = random.pick([[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]);
  return Buffer.concat([Buffer.from('{"user":"'), Buffer.from(bad), Buffer.from(`",${text.slice(1)}`)]);
}

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
function brokenQuery(random: Random, key: string): BadRequest {
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
function brokenHttp(random: Random, key: string): BadRequest {
  const good = Buffer.from(JSON.stringify({ model: 'simulator', input: 'Hi. [[sluice: tokens=1]]' }));
  const post = { method: 'POST', path: '/v1/responses', headers: json(key), body: good };
  const withHeader = (name: string, value: string) => ({
    ...post,
    headers: [...json(key), [name, value] as [string, string]],
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
          ...json(key),
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
