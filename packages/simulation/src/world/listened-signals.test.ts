import { expect, it, vi } from 'vitest';
import { ListenedSignals } from './listened-signals.ts';

it('ends the listening to signals of a world that is over, and no other', () => {
  const signals = new ListenedSignals();
  const stopping = new AbortController();
  const composite = AbortSignal.any([stopping.signal]);
  signals.follow(composite);
  const [kept, left, outside] = [vi.fn(), vi.fn(), vi.fn()];
  stopping.signal.addEventListener('abort', outside);
  composite.addEventListener('abort', kept);
  composite.addEventListener('abort', left);
  composite.removeEventListener('abort', left);
  signals.forget();
  stopping.abort();
  expect(composite.aborted).toBe(true);
  expect([kept, left, outside].map(({ mock }) => mock.calls.length)).toEqual([0, 0, 1]);
});
