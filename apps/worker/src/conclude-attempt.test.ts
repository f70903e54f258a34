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

const fresh = { isVisible: false, mayRetry: true, remainingMs: 60_000, patienceMs: 10_000 };
const seen = { ...fresh, isVisible: true };
const last = { ...fresh, mayRetry: false };

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
  [
    'a response is left to the attempt that took its lease',
    { kind: 'aborted', reason: 'superseded' },
    seen,
    { kind: 'leave' },
  ],
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
      const { kind }: Conclusion = concludeAttempt(ending, seen);
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

describe('an attempt that finds no route', () => {
  const parked = (waitMs: number) => ({ because: 'parked', waitMs }) as const;
  const open = (waitMs: number, downMs: number) => ({ because: 'open', waitMs, downMs }) as const;
  const busy = { because: 'busy', waitMs: 99_000, isLineFull: true } as const;
  const saturated = { because: 'saturated', waitMs: 99_000 } as const;
  const patient = { ...fresh, patienceMs: Number.POSITIVE_INFINITY };
  const postponed = { kind: 'postpone' };

  it.each([
    ['waits for one that is parked', parked(20_000), fresh, postponed],
    ['also as the last attempt', parked(20_000), last, postponed],
    ['but not past its time', parked(60_000), fresh, failedWith('server_is_overloaded')],
    ['waits for its turn, which may come sooner than it seems', busy, last, postponed],
    ['waits for one that has too many waiting', saturated, last, postponed],
    ['waits for one that went down just now', open(5_000, 0), fresh, postponed],
    ['but not for one that is down for long', open(1_000, 9_000), fresh, failedWith('upstream_error')],
    ['unless nobody waits for the response', open(30_000, 3_600_000), patient, postponed],
    ['and not past its time either', open(60_000, 0), patient, failedWith('upstream_error')],
  ])('%s', (_name, block, facts, expected) => {
    expect(concludeAttempt({ kind: 'blocked', block }, facts)).toMatchObject(expected);
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
