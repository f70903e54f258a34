import { describe, expect, it } from 'vitest';
import { isLoopback, readUrl, shownUrl } from './endpoint.ts';

describe('the URL of an endpoint', () => {
  it.each([
    ['http://127.0.0.1:3000/v1', 'http://127.0.0.1:3000/v1'],
    ['http://127.0.0.1:3000/v1/', 'http://127.0.0.1:3000/v1'],
    ['https://api.example.com/v1/responses', 'https://api.example.com/v1'],
    ['https://example.com/openai?api-version=1&key=secret#x', 'https://example.com/openai'],
    ['http://localhost', 'http://localhost'],
  ])('%s is shown as %s', (text, shown) => {
    expect(shownUrl(readUrl(text))).toBe(shown);
  });

  it.each([
    ['127.0.0.1:3000', /^--url: is not an http or https URL/],
    ['ftp://x/v1', /^--url: is not an http or https URL/],
    ['http://me:secret@host/v1', /^--url: has a user or a password/],
  ])('%s is refused', (text, message) => {
    expect(() => readUrl(text)).toThrow(message);
    expect(() => readUrl(text)).not.toThrow(/secret/);
  });

  it('is of this machine or not', () => {
    const urls = [
      'http://127.0.0.1/v1',
      'http://localhost:1/v1',
      'http://[::1]/v1',
      'http://127.evil.com/v1',
    ];
    expect(urls.map((url) => isLoopback(readUrl(url)))).toEqual([true, true, true, false]);
  });
});
