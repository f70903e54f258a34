import { describe, expect, it } from 'vitest';
import {
  type AttemptEnding,
  type AttemptFailure,
  concludeAttempt,
  concludeClaim,
  type Conclusion,
} from './conclude-attempt.ts';

const passing: AttemptFailure = { code: 'upstream_error', disposition: 'retry' };
const final: AttemptFailure = { code: 'invalid_prompt', disposition: 'fail', param: 'input' };

const fresh = { isVisible: false, mayRetry: true };
const seen = { isVisible: true, mayRetry: true };
const last = { isVisible: false, mayRetry: false };

const failedWith = (code: string) => ({ kind: 'end', plan: { status: 'failed', code } });

const cases: [string, AttemptEnding, typeof fresh, object][] = [
  [
    'a finished model completes',
    { kind: 'finished', reason: 'stop' },
    seen,
    { kind: 'end', plan: { status: 'completed' } },
  ],
  [
    'calls complete, too',
    { kind: 'finished', reason: 'function_call' },
    fresh,
    { kind: 'end', plan: { status: 'completed' } },
  ],
  [
    'a limit leaves it incomplete',
    { kind: 'finished', reason: 'max_output_tokens' },
    seen,
    { kind: 'end', plan: { status: 'incomplete', reason: 'max_output_tokens' } },
  ],
  [
    'a passing failure is tried again',
    { kind: 'failed', failure: passing },
    fresh,
    { kind: 'retry', failure: passing },
  ],
  ['not once output is visible', { kind: 'failed', failure: passing }, seen, failedWith('upstream_error')],
  [
    'nor when the attempts are used up',
    { kind: 'failed', failure: passing },
    last,
    failedWith('upstream_error'),
  ],
  ['a final failure ends', { kind: 'failed', failure: final }, fresh, failedWith('invalid_prompt')],
  [
    'a cancellation ends, seen or not',
    { kind: 'aborted', reason: 'cancelled' },
    seen,
    { kind: 'end', plan: { status: 'cancelled' } },
  ],
  ['a time-out fails', { kind: 'aborted', reason: 'timed_out' }, fresh, failedWith('timeout')],
  [
    'a process that stops gives back what nobody saw',
    { kind: 'aborted', reason: 'interrupted' },
    last,
    { kind: 'give_back' },
  ],
  ['and fails what is visible', { kind: 'aborted', reason: 'interrupted' }, seen, failedWith('server_error')],
  ['a lost lease is let go', { kind: 'aborted', reason: 'superseded' }, seen, { kind: 'let_go' }],
  [
    'a log that cannot be written is reported',
    { kind: 'aborted', reason: 'unwritable' },
    seen,
    { kind: 'report_defect' },
  ],
];

describe('what an attempt comes to', () => {
  it.each(cases)('%s', (_name, ending, facts, expected) => {
    expect(concludeAttempt(ending, facts)).toMatchObject(expected);
  });

  it('never leads to another attempt behind visible output', () => {
    for (const [, ending] of cases) {
      const { kind }: Conclusion = concludeAttempt(ending, { isVisible: true, mayRetry: true });
      expect(['retry', 'give_back']).not.toContain(kind);
    }
  });

  it('keeps the words and the parameter of the failure', () => {
    const failure: AttemptFailure = { ...final, publicMessage: 'Only data URLs are allowed.' };
    expect(concludeAttempt({ kind: 'failed', failure }, fresh)).toEqual({
      kind: 'end',
      plan: {
        status: 'failed',
        code: 'invalid_prompt',
        sentence: 'Only data URLs are allowed.',
        param: 'input',
      },
    });
  });
});

describe('what a claim comes to that may not run', () => {
  it.each([
    ['cancelled', { status: 'cancelled' }],
    ['expired', { status: 'failed', code: 'timeout' }],
    ['exhausted', { status: 'failed', code: 'server_error' }],
    ['input_lost', { status: 'failed', code: 'server_error' }],
    ['broken_off', { status: 'failed', code: 'server_error' }],
  ] as const)('%s', (because, plan) => {
    expect(concludeClaim(because)).toMatchObject(plan);
  });
});
