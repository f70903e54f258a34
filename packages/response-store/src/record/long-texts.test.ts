import { expect, it } from 'vitest';
import { LongTexts } from './long-texts.ts';

const long = 'x'.repeat(5_000);

const documents: Record<string, unknown> = {
  'short alone': { a: 'b', c: [1, { d: 'e' }] },
  'a long text': { text: long },
  'a text full of what is escaped': { text: '"\\\n\u0001'.repeat(2_000), more: '\\'.repeat(5_001) },
  'characters of several bytes': { text: 'é😀'.repeat(2_000), other: 'é' },
  'several long texts in a list': [long, 'short', `${long}"`, { a: { b: long } }],
  'logprobs, which are left out whole': {
    logprobs: Array.from({ length: 500 }, (_, at) => ({ token: `]"[${at}`, bytes: [at], top_logprobs: [] })),
    text: 'short',
  },
  'texts of several turns': {
    plain: 'x'.repeat(3_000_000),
    escaped: `${'\\'.repeat(700_001)}"${'"'.repeat(700_000)}`,
    logprobs: Array.from({ length: 40_000 }, (_, at) => ({ token: `\\"]"[${at}`, bytes: [at] })),
  },
  'a short list of logprobs': { logprobs: [{ token: 'a' }], text: long },
};

it.each(Object.entries(documents))('a document comes back as it was: %s', async (_name, document) => {
  const json = JSON.stringify(document);
  const { hollow, texts } = await LongTexts.takenFrom(Buffer.from(json));
  expect(hollow.length).toBeLessThan(Math.max(1_000, json.length / 3));
  expect(Buffer.concat(texts.piecesOf(JSON.stringify(JSON.parse(hollow)))).toString()).toBe(json);
  expect(texts.filled(JSON.parse(hollow))).toEqual(document);
});

it('shares the bytes of the document, wherever a text gets to', async () => {
  const json = Buffer.from(JSON.stringify({ text: long }));
  const { hollow, texts } = await LongTexts.takenFrom(json);
  const { text } = JSON.parse(hollow) as { text: string };
  const printed = JSON.stringify({ first: text, joined: `${text}${text}` });
  const pieces = texts.piecesOf(printed);
  expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify({ first: long, joined: long + long }));
  expect(texts.lengthOf(printed)).toBe(Buffer.concat(pieces).length);
  expect(pieces.filter((piece) => piece.buffer === json.buffer && piece.length === long.length)).toHaveLength(
    3,
  );
});

/** Takes what a text has as a value, and is pleased with it or not. */
function scanOf(isWhole: boolean) {
  const taken: Buffer[] = [];
  return { take: (piece: Uint8Array) => void taken.push(Buffer.from(piece)), isWhole, taken };
}

it.each([
  ['plain', { text: 'x'.repeat(200_000) }],
  ['full of what is escaped', { text: '"\\\n\u0001/\b\f\t'.repeat(20_000), more: '\\'.repeat(5_001) }],
  ['of several bytes', { text: 'é😀\u2028'.repeat(30_000) }],
  ['with half of a pair', { text: `${'x'.repeat(65_530)}\ud800${'\udc00y'.repeat(2_000)}` }],
  [
    'of many members',
    Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`member ${at}`, [at, {}]])),
  ],
])('has a text that is JSON as a value: %s', async (_name, value) => {
  const args = JSON.stringify(value);
  const { hollow, texts } = await LongTexts.takenFrom(Buffer.from(JSON.stringify({ args, more: long })));
  const document = JSON.parse(hollow) as { args: string; more: string };
  const scan = scanOf(true);
  const mark = await texts.valueOf(document.args, scan);
  const { byteLength, pieces } = texts.bodyOf(`{"more":"${document.more}","input":${mark ?? ''},"é":1}`);
  const body = Buffer.concat([...pieces]);
  expect(body.toString()).toBe(`{"more":"${long}","input":${args},"é":1}`);
  expect(byteLength).toBe(body.length);
  expect(Buffer.concat(scan.taken).toString()).toBe(args);
  expect(Math.max(...scan.taken.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
});

it('has no value of a text that is none, or is not a long text of its own', async () => {
  const { hollow, texts } = await LongTexts.takenFrom(
    Buffer.from(JSON.stringify({ long, logprobs: [long] })),
  );
  const document = JSON.parse(hollow) as { long: string; logprobs: [string] };
  expect(await texts.valueOf(document.long, scanOf(false))).toBeUndefined();
  for (const text of [
    '{}',
    '',
    `${document.long} `,
    `${document.long}${document.long}`,
    document.logprobs[0],
  ]) {
    expect(await texts.valueOf(text, scanOf(true))).toBeUndefined();
  }
});

it('does not take a mark of another document for one of its own', async () => {
  const other = await LongTexts.takenFrom(Buffer.from(JSON.stringify({ text: long })));
  const document = { text: (JSON.parse(other.hollow) as { text: string }).text, long };
  const { hollow, texts } = await LongTexts.takenFrom(Buffer.from(JSON.stringify(document)));
  expect(texts.filled(JSON.parse(hollow))).toEqual(document);
});

it.each([
  ['a plain text', JSON.stringify('x'.repeat(8 * 1024 * 1024))],
  ['a text of quotes', JSON.stringify('"'.repeat(4 * 1024 * 1024))],
  ['logprobs', `{"logprobs":[${'[],'.repeat(3 * 1024 * 1024)}[]]}`],
  ['short parts', `[${'"x",'.repeat(2 * 1024 * 1024)}"x"]`],
])('looks at a mebibyte in each turn of the event loop: %s', async (_name, json) => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await LongTexts.takenFrom(Buffer.from(json));
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(7);
});

it.each(['"open', '{"logprobs":[[]', `"${'x'.repeat(5_000_000)}`, '"\\"'])(
  'refuses a document that ends too early: %#',
  async (json) => {
    await expect(LongTexts.takenFrom(Buffer.from(json))).rejects.toThrow(SyntaxError);
  },
);
