import { createResponseSchema, parseCreateResponse } from '@sluice/contract';
import { type BadRequest, jsonHeaders, type Verdict, verdictFrom } from './bad-request.ts';
import { type JsonSchema, replaced, sample, spotsOf, wrongValue } from './json-schema.ts';
import type { Random } from './random.ts';

/** The JSON Schema of what a client sends. zod's own method: this package does not know zod. */
const bodySchema = createResponseSchema.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as JsonSchema;

function creation(key: string, what: string, body: Buffer | string, verdict: Verdict): BadRequest {
  return {
    what,
    method: 'POST',
    path: '/v1/responses',
    headers: jsonHeaders(key),
    body: Buffer.from(body),
    verdict,
  };
}

/** A body that is valid but for a few members, or that has members that nobody knows. */
export function brokenMember(random: Random, key: string): BadRequest {
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

/** A body that is not JSON, or not JSON that anybody should take. */
export function brokenText(random: Random, key: string): BadRequest {
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
