import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { eventTypeOf, isTerminal, statusesBefore, transitions } from './lifecycle.ts';
import { statuses } from './response.ts';

const page = readFileSync(new URL('../../../docs/lifecycle.md', import.meta.url), 'utf8');

/** Every allowed change, as `from to`. */
function allowed(): string[] {
  return Object.entries(transitions)
    .flatMap(([from, next]) => next.map((to) => `${from} ${to}`))
    .toSorted();
}

describe('life cycle', () => {
  it('allows these changes and no others', () => {
    expect(allowed()).toEqual([
      'in_progress cancelled',
      'in_progress completed',
      'in_progress failed',
      'in_progress incomplete',
      'queued cancelled',
      'queued failed',
      'queued in_progress',
    ]);
  });

  it('ends in four statuses', () => {
    expect(statuses.filter(isTerminal)).toEqual(['completed', 'incomplete', 'failed', 'cancelled']);
  });

  it('knows what may precede a status', () => {
    expect(statusesBefore('failed')).toEqual(['queued', 'in_progress']);
    expect(statusesBefore('completed')).toEqual(['in_progress']);
    expect(statusesBefore('queued')).toEqual([]);
  });

  it('shows a cancelled response with the event of an incomplete one', () => {
    expect(statuses.map(eventTypeOf)).toEqual([
      'response.queued',
      'response.in_progress',
      'response.completed',
      'response.incomplete',
      'response.failed',
      'response.incomplete',
    ]);
  });
});

describe('page on the life cycle', () => {
  it('draws every change that is allowed, and no other', () => {
    const drawn = [...page.matchAll(/^ *(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} ${to}`);
    expect(drawn.toSorted()).toEqual(allowed());
  });

  it('lists every status with its event and what may follow', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` +\| [^|]+ \| `(.+?)` +\| (.+?) +\|$/gm)];
    const listed = rows.map(([, status, event, next]) => ({
      status,
      event,
      next: next === 'nothing' ? [] : next?.match(/\w+/g),
    }));
    expect(listed).toEqual(
      statuses.map((status) => ({ status, event: eventTypeOf(status), next: [...transitions[status]] })),
    );
  });
});
