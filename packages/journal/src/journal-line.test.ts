import { describe, expect, it } from 'vitest';
import { type JournalEntry, parseEntry, printEntry } from './journal-line.ts';

const entry: JournalEntry = {
  subject: '0abc',
  lines: [
    {
      ...{
        what: 'accepted',
        at: 1,
        tenant: 't',
        model: 'm',
        tier: 'flex',
        mode: 'stream',
        requestId: 'req_1',
      },
      ...{ isInLine: true, digests: 'aaaaaaaaaaa bbbbbbbbbbb' },
    },
    {
      ...{ what: 'claimed', at: 2, attempt: 1, worker: 'w', tenant: 't', model: 'm', tier: 'flex' },
      ...{ mode: 'stream', acceptedAt: 1, host: 'h', pid: 7 },
    },
    { what: 'blocked', at: 2, attempt: 1, because: 'parked' },
    { what: 'called', at: 3, attempt: 1, provider: 'p', upstreamModel: 'um' },
    { what: 'first_output', at: 4, attempt: 1 },
    {
      what: 'failed',
      at: 5,
      attempt: 1,
      provider: undefined,
      code: 'server_error',
      upstreamStatus: 500,
      reason: 'No GPU',
    },
    { what: 'retried', at: 5, attempt: 1, code: 'server_error', delayMs: 250 },
    { what: 'postponed', at: 6, attempt: 2, because: 'busy', afterMs: 10 },
    { what: 'given_back', at: 6, attempt: 2 },
    { what: 'given_up', at: 6, attempt: 2 },
    { what: 'superseded', at: 6, attempt: 2 },
    { what: 'end_refused', at: 6, attempt: 2, status: 'completed', result: 'terminal' },
    { what: 'let_in', at: 7 },
    { what: 'crowded', at: 7 },
    { what: 'taken_back', at: 7 },
    {
      ...{ what: 'ended', at: 8, attempt: 2, status: 'failed', code: 'timeout', because: undefined },
      ...{ inputTokens: undefined, outputTokens: 4 },
    },
    { what: 'paused', at: 9, isPaused: false },
  ],
};

describe('an entry of the journal', () => {
  it('is read as it was written, each kind of line', () => {
    expect(parseEntry(printEntry(entry))).toEqual(entry);
  });

  it('leaves absent members out of its text', () => {
    const lines: JournalEntry['lines'] = [
      {
        ...{ what: 'ended', at: 8, attempt: 1, status: 'cancelled', code: undefined, because: undefined },
        ...{ inputTokens: undefined, outputTokens: undefined },
      },
    ];
    expect(printEntry({ subject: '0a', lines })).toBe('["0a",[8,"d",1,"cancelled"]]');
  });

  it('passes over words that this release does not know, and lines that lack what it needs', () => {
    const text = '["0a",[1,"future",7],[2,"c",1],[3,"f",1],"nonsense",null]';
    expect(parseEntry(text)).toEqual({ subject: '0a', lines: [{ what: 'first_output', at: 3, attempt: 1 }] });
  });

  it('ignores members that a newer release added behind the others', () => {
    expect(parseEntry('["0a",[3,"f",1,"more"]]')?.lines).toEqual([
      { what: 'first_output', at: 3, attempt: 1 },
    ]);
  });

  it('has no reason, host and process where an older release wrote it', () => {
    const [failed, claimed] =
      parseEntry('["0a",[1,"e",1,"p","c",500],[2,"c",1,"w","t","m","flex","whole",1]]')?.lines ?? [];
    expect(failed).toMatchObject({ what: 'failed', upstreamStatus: 500, reason: undefined });
    expect(claimed).toMatchObject({ what: 'claimed', worker: 'w', host: undefined, pid: undefined });
  });

  it.each(['', '{', '{}', '[]', '[1]', '[""]', 'null'])('is none when it is %j', (text) => {
    expect(parseEntry(text)).toBeUndefined();
  });

  it('cuts a text that somebody made long', () => {
    const long = {
      what: 'called',
      at: 3,
      attempt: 1,
      provider: 'x'.repeat(9000),
      upstreamModel: 'm',
    } as const;
    expect(printEntry({ subject: '0a', lines: [long] }).length).toBeLessThan(320);
  });
});
