import { describe, expect, it } from 'vitest';
import { anthropicRateLimitHeaders, goDuration, rateLimitHeaders } from './rate-limit-headers.ts';

describe('a duration as Go prints it', () => {
  it.each([
    [0, '0ms'],
    [-5, '0ms'],
    [12, '12ms'],
    [999.6, '1s'],
    [1_500, '1.5s'],
    [59_999, '59.999s'],
    [60_000, '1m0s'],
    [361_250, '6m1.25s'],
  ])('of %d ms is %s', (milliseconds, text) => {
    expect(goDuration(milliseconds)).toBe(text);
  });
});

describe('rate limit headers', () => {
  it('are those of each limit of a tenant', () => {
    const requests = { limit: 600, remaining: 599, resetMs: 59_500 };
    const tokens = { limit: 20_000, remaining: 0, resetMs: 61_000 };
    expect(rateLimitHeaders({ requests, tokens: undefined })).toEqual({
      'x-ratelimit-limit-requests': '600',
      'x-ratelimit-remaining-requests': '599',
      'x-ratelimit-reset-requests': '59.5s',
    });
    expect(rateLimitHeaders({ requests: undefined, tokens })).toEqual({
      'x-ratelimit-limit-tokens': '20000',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1m1s',
    });
  });

  it('say a client of Anthropic when a limit is full again', () => {
    const requests = { limit: 600, remaining: 599, resetMs: 59_500 };
    expect(anthropicRateLimitHeaders({ requests, tokens: undefined }, 1_700_000_000_000)).toEqual({
      'anthropic-ratelimit-requests-limit': '600',
      'anthropic-ratelimit-requests-remaining': '599',
      'anthropic-ratelimit-requests-reset': '2023-11-14T22:14:19Z',
    });
  });

  it('are left out for one without', () => {
    expect(anthropicRateLimitHeaders(undefined, 0)).toEqual({});
    expect(rateLimitHeaders(undefined)).toEqual({});
    expect(rateLimitHeaders({ requests: undefined, tokens: undefined })).toEqual({});
  });
});
