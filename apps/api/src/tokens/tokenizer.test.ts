import { expect, test } from 'vitest';
import { encodingOf } from './encoding-of-model.ts';
import { loadTokenizer, TooCostly, Tokenizer } from './tokenizer.ts';

test('counts what OpenAI counts', async () => {
  const newer = (await loadTokenizer('o200k_base')).budgeted();
  expect(newer('hello world')).toBe(2);
  expect(newer('')).toBe(0);
  const older = (await loadTokenizer('cl100k_base')).budgeted();
  expect(older('hello world')).toBe(2);
  expect(older('tiktoken is great!')).toBe(6);
});

test('counts a long text as it counts it whole, piece by piece', async () => {
  const tokenizer = await loadTokenizer('o200k_base');
  const sentence = 'The quick brown fox, aged 12, jumps over the lazy dog. ';
  const one = tokenizer.budgeted()(sentence);
  const many = tokenizer.budgeted()(sentence.repeat(2_000));
  expect(Math.abs(many - 2_000 * one)).toBeLessThan(2_000 + 20);
});

test('takes what has a meaning for a model as plain text', async () => {
  const tokens = (await loadTokenizer('o200k_base')).budgeted()('<|endoftext|>');
  expect(tokens).toBeGreaterThan(1);
});

test('gives the tokenizer no long run, and no half of a character', () => {
  const pieces: string[] = [];
  const tokenizer = new Tokenizer((text) => pieces.push(text));
  const texts = [
    'a'.repeat(1_000),
    ' '.repeat(1_000),
    '\u{1f600}'.repeat(500),
    'word '.repeat(20_000),
    '\ud800',
  ];
  for (const text of texts) {
    pieces.length = 0;
    tokenizer.budgeted()(text);
    expect(pieces.join('')).toBe(text);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(17 * 1024);
    const runs = pieces.flatMap((piece) => piece.match(/\p{L}+|\s+|[^\p{L}\s]+/gu) ?? []);
    expect(Math.max(...runs.map(({ length }) => length))).toBeLessThanOrEqual(128);
    if (text.isWellFormed()) expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  }
});

test('gives up on texts that are too long or take too long together', () => {
  const count = new Tokenizer(() => 1, { mostMs: Number.POSITIVE_INFINITY }).budgeted();
  const mebibyte = ' x'.repeat(512 * 1024);
  for (let times = 0; times < 4; times += 1) count(mebibyte);
  expect(() => count('x')).toThrow(TooCostly);
  const slow = new Tokenizer(() => 1, { mostMs: -1 });
  expect(() => slow.budgeted()('x')).toThrow(TooCostly);
});

test('knows the encodings of models of OpenAI', () => {
  const of = (...names: string[]) => encodingOf({ routes: names.map((model) => ({ provider: 'p', model })) });
  for (const name of [
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-4.1',
    'gpt-5',
    'gpt-5.2-codex',
    'o3',
    'o4-mini',
    'openai/gpt-4o',
  ])
    expect(of(name), name).toBe('o200k_base');
  for (const name of ['gpt-4', 'gpt-4-turbo', 'gpt-3.5-turbo']) expect(of(name), name).toBe('cl100k_base');
  for (const name of [
    'llama-3',
    'gpt-4-all-something'.replace('gpt-4-', 'gpt4'),
    'o',
    'olmo',
    'gpt-neo',
    'gpt-50x',
  ])
    expect(of(name), name).toBeUndefined();
  expect(of('gpt-4o', 'gpt-5')).toBe('o200k_base');
  expect(of('gpt-4o', 'llama-3')).toBeUndefined();
  expect(encodingOf({ tokenizer: 'cl100k_base', routes: [{ provider: 'p', model: 'llama-3' }] })).toBe(
    'cl100k_base',
  );
});
