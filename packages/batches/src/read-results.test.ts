import { describe, expect, it } from 'vitest';
import { type ResultPart, ResultReader } from './read-results.ts';
import { answered, expired, type LineResult } from './result-files.ts';

const textOf = ({ text }: LineResult) => (typeof text === 'string' ? text : Buffer.concat([...text]));

/** The results of a file that is read in pieces of this size, and the bytes of the longest part of a body. */
function read(file: string, size: number) {
  const results: { customId: string; body?: string; isWhole?: boolean }[] = [];
  let longest = 0;
  const reader = new ResultReader();
  const take = (part: ResultPart) => {
    const last = results.at(-1);
    if (part.kind === 'body') {
      // Each byte by itself: a piece may end inside a character.
      Object.assign(last ?? {}, { body: `${last?.body}${part.bytes.toString('latin1')}` });
      longest = Math.max(longest, part.bytes.length);
    } else if (part.kind === 'end') Object.assign(last ?? {}, { isWhole: true });
    else if (part.kind === 'begin') results.push({ customId: part.customId, body: '', isWhole: false });
    else results.push({ customId: part.customId });
  };
  const bytes = Buffer.from(file);
  for (let at = 0; at < bytes.length; at += size) {
    for (const part of reader.read(bytes.subarray(at, at + size))) take(part);
  }
  for (const part of reader.end()) take(part);
  return { results, longest };
}

describe('the results in a file', () => {
  it.each(['a', 'a"b', 'a\\', '","body":{"x":1}', 'ä\n'])(
    'are read without their bodies being parsed, in whatever pieces: %j',
    (customId) => {
      const body = '{"error":null,"body":{"big":12345678901234567890},"error":null},"ü":{}}';
      const whole = { customId, body: Buffer.from(body).toString('latin1'), isWhole: true };
      const line = textOf(answered(customId, { status: 200, requestId: 'req_1', body, tokens: undefined }));
      const file = `${line}\n${textOf(expired(customId))}\n\n${line}`;
      for (const size of [1, 2, 7, 16, 17, 100, 10_000])
        expect(read(file, size).results).toEqual([whole, { customId }, whole]);
    },
  );

  it('are in memory no longer than the pieces in which they come', () => {
    const body = JSON.stringify('x'.repeat(100_000));
    const line = textOf(answered('a', { status: 200, requestId: 'req_1', body, tokens: undefined }));
    const { results, longest } = read(`${line}\n`, 1_000);
    expect(results).toEqual([{ customId: 'a', body, isWhole: true }]);
    expect(longest).toBeLessThan(1_100);
  });
});
