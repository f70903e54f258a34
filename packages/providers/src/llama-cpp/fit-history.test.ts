import { describe, expect, it } from 'vitest';
import { fitHistory } from './fit-history.ts';
import type { HistoryItem } from './library.ts';

const user = (tokens: number): HistoryItem => ({ type: 'user', text: 'x'.repeat(tokens) });
const system: HistoryItem = { type: 'system', text: 'xx' };
const count = (history: HistoryItem[]) =>
  history.reduce((sum, item) => sum + ('text' in item ? item.text.length : 0), 0);

const tokenize = (history: HistoryItem[]) => Array.from({ length: count(history) }, () => 1);

describe('a history', () => {
  it('stays whole when it fits', () => {
    const history = [user(5), user(5)];
    expect(fitHistory({ history, truncates: true }, 10, tokenize)).toEqual({
      history,
      tokens: tokenize(history),
    });
  });

  it('is refused when it does not fit', () => {
    expect(() => fitHistory({ history: [user(5), user(6)], truncates: false }, 10, tokenize)).toThrowError(
      expect.objectContaining({ failure: expect.objectContaining({ code: 'context_length_exceeded' }) }),
    );
  });

  it('loses its oldest items when it may, and no more than it must', () => {
    for (let most = 4; most < 14; most += 1) {
      const history = [system, user(3), user(3), user(3), user(1), user(1)];
      const fitted = fitHistory({ history, truncates: true }, most, tokenize);
      expect(fitted.tokens).toHaveLength(count(fitted.history));
      expect(fitted.history[0]).toBe(system);
      expect(fitted.history.at(-1)).toBe(history.at(-1));
      const dropped = history.length - fitted.history.length;
      expect(fitted.history.slice(1)).toEqual(history.slice(1 + dropped));
      if (dropped > 0)
        expect(fitted.tokens.length + count(history.slice(dropped, dropped + 1))).toBeGreaterThan(most);
    }
  });

  it('is refused when even its last item is too much', () => {
    expect(() => fitHistory({ history: [user(1), user(20)], truncates: true }, 10, tokenize)).toThrow();
  });
});
