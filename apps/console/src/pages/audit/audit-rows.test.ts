import type { AuditEntry } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { actionWords, auditRows, targetOf } from './audit-rows.ts';

function entry(id: string, given: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{ id, at: Number.parseInt(id, 10), action: 'queue.pause', target: 'q', address: '::1' },
    ...{ outcome: 'asked', detail: null, asked: null },
    ...given,
  };
}

describe('auditRows', () => {
  it('makes one row of an act and its outcome', () => {
    const done = entry('20-0', { outcome: 'done', asked: '10-0', detail: 'said' });
    expect(auditRows([done, entry('10-0')])).toEqual([
      {
        ...{ id: '10-0', at: 10, action: 'queue.pause', target: 'q' },
        address: '::1',
        outcome: 'done',
        detail: 'said',
      },
    ]);
  });

  it('keeps one that has no outcome, and one whose beginning is not loaded', () => {
    const rows = auditRows([entry('30-0'), entry('20-0', { outcome: 'failed', asked: '10-0' })]);
    expect(rows.map(({ id, at, outcome }) => [id, at, outcome])).toEqual([
      ['30-0', 30, 'asked'],
      ['10-0', 20, 'failed'],
    ]);
  });

  it('keeps the order of what ended last when acts overlap', () => {
    const entries = [
      entry('40-0', { outcome: 'done', asked: '10-0' }),
      entry('30-0', { outcome: 'done', asked: '20-0' }),
      entry('20-0'),
      entry('10-0'),
    ];
    expect(auditRows(entries).map(({ id }) => id)).toEqual(['10-0', '20-0']);
  });
});

describe('words', () => {
  it('shows an action of a later release as it is', () => {
    expect(actionWords('queue.drain')).toBe('Drain a queue');
    expect(actionWords('toString')).toBe('toString');
  });

  it('makes a filter a search of the list of responses', () => {
    const target = JSON.stringify({ status: ['queued', 'failed'], from: 5 });
    expect(targetOf({ action: 'responses.cancel', target })).toEqual({
      kind: 'filter',
      search: { status: ['queued', 'failed'], from: ['5'] },
      text: 'status queued or failed, from 5',
    });
    expect(targetOf({ action: 'responses.cancel', target: '{}' })).toMatchObject({ text: 'every response' });
  });

  it('shows a filter that was cut as it is', () => {
    expect(targetOf({ action: 'responses.retry', target: '{"status":["que…' })).toEqual({
      kind: 'text',
      text: '{"status":["que…',
    });
  });

  it('knows what else acts are done to', () => {
    expect(targetOf({ action: 'response.cancel', target: 'resp_1' })).toEqual({
      kind: 'response',
      id: 'resp_1',
    });
    expect(targetOf({ action: 'queue.pause', target: 'q' })).toEqual({ kind: 'queue', text: 'q' });
    expect(targetOf({ action: 'key.create', target: 't' })).toEqual({ kind: 'tenant', text: 't' });
    expect(targetOf({ action: 'tenant.limit', target: 'team' })).toEqual({ kind: 'tenant', text: 'team' });
    expect(targetOf({ action: 'key.revoke', target: 'key_1' })).toEqual({ kind: 'text', text: 'key_1' });
  });
});
