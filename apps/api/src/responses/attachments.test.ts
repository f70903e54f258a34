import type { EndWait } from '@sluice/response-store';
import { describe, expect, it, vi } from 'vitest';
import { Attachments, endOfWait } from './attachments.ts';
import { CallerPresence } from './caller.ts';

const response = { responseId: 'r', tenant: 'a', isKept: false, canReturn: true };

function attachments() {
  const ends = { callerLeft: vi.fn(), delivered: vi.fn() };
  return { ends, all: new Attachments(ends) };
}

describe('a caller that follows a response', () => {
  it('that could not be given the end is told apart from one that has it', () => {
    const ended = { settledAs: { kind: 'ended' } } as EndWait;
    const caller = { presence: new CallerPresence() };
    expect(endOfWait(ended, caller, { hasAnswer: true })).toBe('whole');
    expect(endOfWait(ended, caller, { hasAnswer: false })).toBe('undelivered');
    expect(endOfWait(undefined, caller, { hasAnswer: true })).toBe('caller_left');
  });

  it('counts as one of several until the last has stopped', () => {
    const { ends, all } = attachments();
    const [one, other] = [all.open(response), all.open(response)];
    one.close('undelivered');
    one.close('undelivered');
    expect(ends.delivered).not.toHaveBeenCalled();
    other.close('undelivered');
    expect(ends.delivered).toHaveBeenCalledExactlyOnceWith(other, expect.any(Function), { hasAnswer: false });
    expect(all.isAttached('r')).toBe(false);
  });
});
