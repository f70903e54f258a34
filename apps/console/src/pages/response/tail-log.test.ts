import type { TailEvent } from '@sluice/contract/admin';
import { describe, expect, it } from 'vitest';
import { emptyLog, mostShown, takeEvents } from './tail-log.ts';

const event = (number: number): TailEvent => ({
  sequence_number: number,
  type: 'response.output_text.delta',
  bytes: 10,
});

describe('what was received of a tail', () => {
  it('counts events that follow each other, over batches', () => {
    const log = takeEvents(takeEvents(emptyLog(-1), [event(0), event(1)]), [event(2)]);
    expect(log).toMatchObject({ received: 3, last: 2, missing: 0, repeated: 0 });
  });

  it('counts what was left out, and what came twice', () => {
    const log = takeEvents(emptyLog(-1), [event(0), event(3), event(3), event(1)]);
    expect(log).toMatchObject({ received: 2, last: 3, missing: 2, repeated: 2 });
  });

  it('begins behind any number', () => {
    expect(takeEvents(emptyLog(41), [event(42)])).toMatchObject({ missing: 0, last: 42 });
  });

  it('shows the newest ones and counts all', () => {
    const log = takeEvents(
      emptyLog(-1),
      Array.from({ length: mostShown + 20 }, (_, at) => event(at)),
    );
    expect(log.events).toHaveLength(mostShown);
    expect(log.events[0]?.sequence_number).toBe(20);
    expect(log.received).toBe(mostShown + 20);
  });
});
