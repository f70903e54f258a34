import { createResponseSchema, parseCreateResponse } from '@sluice/contract';
import {
  chatRequestSchema,
  messageRequestSchema,
  parseChatRequest,
  parseMessageRequest,
  embeddingRequestSchema,
  parseEmbeddingRequest,
} from '@sluice/protocols';
import { type BadRequest, jsonHeaders, type Verdict, verdictFrom } from './bad-request.ts';
import { type JsonSchema, replaced, sample, spotsOf, wrongValue } from './json-schema.ts';
import type { Random } from './random.ts';

/** A route that creates a response, in the form of a protocol. */
interface Door {
  path: string;
  /** The JSON Schema of what a client sends. */
  schema: JsonSchema;
  /** The member that holds the conversation, and a small one that the simulator answers at once. */
  said: { name: string; value: unknown };
  /** Further members that a body must have. */
  required: Record<string, unknown>;
  /** Throws where the protocol refuses. */
  parse: (body: unknown) => unknown;
}

const hello = 'Hi. [[sluice: tokens=1]]';
const doors: readonly [Door, ...Door[]] = [
  {
    path: '/v1/responses',
    schema: schemaOf(createResponseSchema),
    said: { name: 'input', value: hello },
    required: {},
    parse: (body) => parseCreateResponse(body),
  },
  {
    path: '/v1/chat/completions',
    schema: schemaOf(chatRequestSchema),
    said: { name: 'messages', value: [{ role: 'user', content: hello }] },
    required: {},
    parse: (body) => parseChatRequest(body),
  },
  {
    path: '/v1/messages',
    schema: schemaOf(messageRequestSchema),
    said: { name: 'messages', value: [{ role: 'user', content: hello }] },
    required: { max_tokens: 64 },
    parse: (body) => parseMessageRequest(body),
  },
  {
    path: '/v1/embeddings',
    schema: schemaOf(embeddingRequestSchema),
    said: { name: 'input', value: [hello] },
    required: {},
    parse: (body) => parseEmbeddingRequest(body),
  },
];

/** By zod's own method: this package does not know zod. */
function schemaOf(
  schema:
    | typeof createResponseSchema
    | typeof chatRequestSchema
    | typeof messageRequestSchema
    | typeof embeddingRequestSchema,
) {
  return schema.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

function creation(
  key: string,
  { path }: Door,
  what: string,
  { body, verdict }: { body: Buffer | string; verdict: Verdict },
): BadRequest {
  return { what, method: 'POST', path, headers: jsonHeaders(key), body: Buffer.from(body), verdict };
}

/** A body that is valid but for a few members, or that has members that nobody knows. */
export function brokenMember(random: Random, key: string): BadRequest {
  const door = random.pick(doors);
  let body = validBody(random, door);
  const done: string[] = [];
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const spot = random.anyOf(spotsOf(door.schema, body));
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
  return creation(key, door, done.join(', '), { body: text, verdict: verdictOf(text, door) });
}

/** A small request that the simulator answers at once. */
function validBody(random: Random, { schema: { properties = {} }, said, required }: Door): unknown {
  const body: Record<string, unknown> = {
    model: 'simulator',
    [said.name]: random.chance(0.4) ? said.value : sample(properties[said.name] ?? {}, random),
    ...required,
  };
  const names = Object.keys(properties);
  for (let left = random.below(4); left > 0; left -= 1) {
    const name = random.anyOf(names) ?? 'metadata';
    // These would be refused for what they are, and hide what else is wrong; so would any value of a member without a form.
    if (name === 'conversation' || name in body || Object.keys(properties[name] ?? {}).length === 0) continue;
    body[name] = sample(properties[name] ?? {}, random);
  }
  return body;
}

/** What the contract says of a body that is JSON. */
function verdictOf(text: string, { parse }: Door): Verdict {
  if (text === '') return { kind: 'refused' };
  return verdictFrom(() => parse(JSON.parse(text)));
}

/** A body that is not JSON, or not JSON that anybody should take. */
export function brokenText(random: Random, key: string): BadRequest {
  const [door] = doors;
  const text = JSON.stringify(validBody(random, door));
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
  return creation(key, door, what, { body, verdict });
}

function nested(open: string, close: string, depth: number, inside = ''): string {
  return `${open.repeat(depth)}${inside}${close.repeat(depth)}`;
}

/** Inside of a string, where a parser that does not look would take them. */
function withBytes(text: string, random: Random): Buffer {
  const bad = random.pick([[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]);
  return Buffer.concat([Buffer.from('{"user":"'), Buffer.from(bad), Buffer.from(`",${text.slice(1)}`)]);
}
