import { expect, it } from 'vitest';
import { actNote, actTitle, actTone } from './act-words.ts';

it('names the queue that is drained in every state', () => {
  for (const state of ['running', 'done', 'stopped', 'interrupted', 'failed'] as const) {
    expect(actTitle({ action: 'drain', state, target: 'qwen' })).toContain('qwen');
  }
});

it('does not show the filter of an act on many', () => {
  expect(actTitle({ action: 'cancel', state: 'running', target: '{"status":["queued"]}' })).toBe(
    'Cancelling responses',
  );
  expect(actTitle({ action: 'retry', state: 'stopped', target: '{}' })).toBe('Stopped retrying responses');
});

it('takes an act with failures for failed, and one that was stopped', () => {
  expect(actTone({ state: 'running', failed: 3 })).toBe('running');
  expect(actTone({ state: 'done', failed: 0 })).toBe('done');
  expect(actTone({ state: 'done', failed: 1 })).toBe('failed');
  expect(actTone({ state: 'stopped', failed: 0 })).toBe('failed');
});

it('adds what was skipped, what failed, and why', () => {
  const drained = { action: 'drain', done: 1_200, skipped: 0, failed: 0, error: null } as const;
  expect(actNote(drained)).toBe('1,200 cancelled');
  const retried = { action: 'retry', done: 1, skipped: 2, failed: 3, error: '3 server_error' } as const;
  expect(actNote(retried)).toBe('1 created again · 2 open or no longer kept · 3 failed · 3 server_error');
});
