import { describe, expect, it } from 'vitest';
import { filterOf, isWholeId, narrows, searchOf, spanOf } from './row-search.ts';

describe('the filter of an address', () => {
  it('has every value, and nothing that is not there', () => {
    const values = { status: ['failed', 'queued'], tenant: ['acme'], other: ['x'], id: [''] };
    expect(filterOf(values, 0)).toEqual({ status: ['failed', 'queued'], tenant: ['acme'] });
  });

  it('counts a span back from now', () => {
    expect(filterOf({ since: ['5m'] }, 1_000_000)).toEqual({ from: 700_000 });
    expect(filterOf({ since: ['nonsense'] }, 1_000_000)).toEqual({});
  });

  it('has a span of time in words', () => {
    expect(spanOf({ since: ['1h'] })?.label).toBe('Last hour');
    expect(spanOf({})).toBeUndefined();
  });

  it('takes moments as they are', () => {
    expect(filterOf({ from: ['5'], to: ['7'] }, 0)).toEqual({ from: 5, to: 7 });
    expect(filterOf({ from: ['soon'], to: [''] }, 0)).toEqual({});
  });

  it('has both bounds of a span and a beginning', () => {
    expect(filterOf({ since: ['5m'], from: ['5'] }, 1_000_000)).toEqual({ from: 700_000 });
    expect(filterOf({ since: ['5m'], from: ['800000'] }, 1_000_000)).toEqual({ from: 800_000 });
  });

  it.each([
    [{ status: ['failed'] }, true],
    [{ since: ['1h'] }, true],
    [{ id: ['resp_a'] }, true],
    [{ id: ['c'] }, true],
    [{ since: ['nonsense'], from: ['soon'], id: [''] }, false],
    [{ id: ['create-'] }, false],
    [{ id: ['resp_'] }, false],
    [{}, false],
  ])('knows whether %j narrows the list: %s', (values, isFilter) => {
    expect(narrows(filterOf(values, 3_600_000))).toBe(isFilter);
  });
});

describe('what was searched for', () => {
  it.each([
    ['', {}],
    [' create-response_ab ', { id: 'create-response_ab' }],
    [' req_ab ', { request_id: 'req_ab' }],
    ['order:17', { metadata: 'order:17' }],
    ['url:http://x', { metadata: 'url:http://x' }],
  ])('reads %j', (text, meaning) => {
    expect(searchOf(text)).toEqual({ id: '', request_id: '', metadata: '', ...meaning });
  });

  it.each(['capital of France', 'id=3', 'café', 'a'.repeat(129)])(
    'finds nothing to search by in %j',
    (text) => {
      expect(searchOf(text)).toBeUndefined();
    },
  );

  it.each([
    ['create-response_0123456789abcdef01', true],
    ['create-response_01', false],
    ['order:create-response_0123456789abcdef01', false],
  ])('knows whether %s is a whole id', (text, isWhole) => {
    expect(isWholeId(text)).toBe(isWhole);
  });
});
