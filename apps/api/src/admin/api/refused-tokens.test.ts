import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RefusedTokens } from './refused-tokens.ts';

const from = (remoteAddress: string) => ({ headers: {}, socket: { remoteAddress } });

let told: string[];
let tokens: RefusedTokens;
beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  tokens = new RefusedTokens({
    failed: { count: () => 7, clientOf: ({ socket }) => socket.remoteAddress ?? '' },
    write: ({ action, address }, detail) => {
      told.push(`${action} ${address}: ${detail}`);
      return Promise.resolve();
    },
  });
});
afterEach(() => vi.useRealTimers());

describe('wrong action tokens', () => {
  it('are told of at once, with the address, and counted as they were', () => {
    expect(tokens.count(from('10.0.0.1'))).toBe(7);
    tokens.count(from('10.0.0.2'));
    expect(told).toEqual(['token.refused 10.0.0.1: wrong token', 'token.refused 10.0.0.2: wrong token']);
  });

  it('leave a few entries in ten minutes, however many there are', () => {
    for (let at = 0; at < 10_000; at += 1) tokens.count(from(`10.0.0.${at % 100}`));
    expect(told).toHaveLength(8);
    vi.advanceTimersByTime(600_000);
    expect(told).toHaveLength(17);
    expect(told.slice(8, 10)).toEqual([
      'token.refused 10.0.0.0: 99 more wrong tokens',
      'token.refused 10.0.0.1: 99 more wrong tokens',
    ]);
    expect(told.at(-1)).toBe('token.refused other addresses: 9200 wrong tokens');
    vi.advanceTimersByTime(6_000_000);
    expect(told).toHaveLength(17);
    tokens.count(from('10.0.0.1'));
    expect(told).toHaveLength(18);
  });

  it('are told of when the process stops', async () => {
    tokens.count(from('10.0.0.1'));
    tokens.count(from('10.0.0.1'));
    await tokens.stop();
    expect(told.at(-1)).toBe('token.refused 10.0.0.1: 1 more wrong tokens');
    await tokens.stop();
    expect(told).toHaveLength(2);
  });
});
