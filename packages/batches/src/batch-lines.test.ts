import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { linesOf, longestLine, mostWithEmpty, parseLine, type RawLine } from './batch-lines.ts';

async function read(pieces: readonly string[], most?: number) {
  const found: [number, string | undefined, boolean][] = [];
  for await (const { number, text, isWhole } of linesOf(
    Readable.from(pieces.map((each) => Buffer.from(each))),
    most,
  ))
    found.push([number, text?.toString('utf8'), isWhole]);
  return found;
}

describe('the lines of a file', () => {
  it('are the same whatever the pieces in which it is read', async () => {
    const text = '{"a":1}\n\n  \r\n{"b":"ü"}\r\n{"c":3}';
    const expected = [
      [1, '{"a":1}', true],
      [4, '{"b":"ü"}\r', true],
      [5, '{"c":3}', false],
    ];
    expect(await read([text])).toEqual(expected);
    expect(await read(text.split(''))).toEqual(expected);
    expect(await read([])).toEqual([]);
  });

  it('that are too long are read past', async () => {
    expect(await read(['12345\n123', '456\n', '1'.repeat(100), '\n12\n'], 5)).toEqual([
      [1, '12345', true],
      [2, undefined, true],
      [3, undefined, true],
      [4, '12', true],
    ]);
  });

  it('are no more than there may be with the empty ones, of which no end is looked for', async () => {
    const feeds = Buffer.alloc(64 * 1024, '\n');
    let chunks = 0;
    const endless = Readable.from(
      (function* () {
        for (; chunks < 1_000; chunks += 1) yield feeds;
      })(),
    );
    const found: RawLine[] = [];
    for await (const line of linesOf(endless)) found.push(line);
    expect(found).toEqual([{ number: mostWithEmpty + 1, text: undefined, isWhole: true }]);
    expect(chunks).toBeLessThan(1_000);
  });
});

const good = { custom_id: 'a', method: 'POST', url: '/v1/responses', body: { model: 'm', input: 'Hi' } };
const parsed = (line: unknown) =>
  parseLine(
    { number: 3, text: Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)) },
    '/v1/responses',
  );

describe('a line', () => {
  it('has an id and a request', () => {
    const found = parsed({ ...good, body: { ...good.body, store: true } });
    if ('problem' in found) throw new Error(found.problem.message);
    expect(found.line).toMatchObject({ number: 3, customId: 'a', isKept: true });
    expect(JSON.parse(Buffer.from(found.line.body).toString('utf8'))).toEqual({ ...good.body, store: true });
    expect(parsed(good)).toMatchObject({ line: { isKept: false } });
  });

  it.each([
    ['{"custom_id"', 'invalid_json_line', null],
    ['[]', 'invalid_json_line', null],
    ['null', 'invalid_json_line', null],
    [{ ...good, custom_id: undefined }, 'missing_required_parameter', 'custom_id'],
    [{ ...good, custom_id: 5 }, 'missing_required_parameter', 'custom_id'],
    [{ ...good, custom_id: 'x'.repeat(513) }, 'string_above_max_length', 'custom_id'],
    [{ ...good, method: 'GET' }, 'invalid_method', 'method'],
    [{ ...good, url: '/v1/embeddings' }, 'mismatched_endpoint', 'url'],
    [{ ...good, body: [] }, 'missing_required_parameter', 'body'],
    [{ ...good, body: { ...good.body, stream: true } }, 'unsupported_value', 'body.stream'],
  ])('is wrong as %j', (line, code, param) => {
    expect(parsed(line)).toMatchObject({ problem: { code, line: 3, param } });
  });

  it('is wrong when its body is nested more deeply than a body can be', () => {
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const line = JSON.stringify({ ...good, body: { input: 'nested' } }).replace('"nested"', nested);
    expect(parsed(line)).toMatchObject({ problem: { code: 'invalid_json_line', line: 3, param: 'body' } });
  });

  it('is wrong when it is too long', () => {
    expect(parseLine({ number: 1, text: undefined }, '/v1/responses')).toMatchObject({
      problem: { code: 'line_too_long', message: expect.stringContaining(String(longestLine)) },
    });
  });
});
