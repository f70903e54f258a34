import { expect, it } from 'vitest';
import { actNote, actTitle, actTone } from './act-words.ts';

it('names the queue in every state', () => {
  for (const state of ['running', 'done', 'stopped', 'interrupted', 'failed'] as const) {
    expect(actTitle({ state, target: 'qwen' })).toContain('qwen');
  }
});

it('takes a drain with failures for failed, and one that was stopped', () => {
  expect(actTone({ state: 'running', failed: 3 })).toBe('running');
  expect(actTone({ state: 'done', failed: 0 })).toBe('done');
  expect(actTone({ state: 'done', failed: 1 })).toBe('failed');
  expect(actTone({ state: 'stopped', failed: 0 })).toBe('failed');
});

it('adds what was skipped, what failed, and why', () => {
  expect(actNote({ done: 1_200, skipped: 0, failed: 0, error: null })).toBe('1,200 cancelled');
  expect(actNote({ done: 1, skipped: 2, failed: 3, error: '3 server_error' })).toBe(
    '1 cancelled · 2 had begun or ended · 3 failed · 3 server_error',
  );
});
