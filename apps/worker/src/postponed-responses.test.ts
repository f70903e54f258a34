import { describe, expect, it } from 'vitest';
import { PostponedResponses } from './postponed-responses.ts';

describe('postponed responses', () => {
  it('are known until they are delivered again', () => {
    const postponed = new PostponedResponses({ now: () => 0 });
    postponed.add('a', 1_000);
    expect(postponed.delete('a')).toBe(true);
    expect(postponed.delete('a')).toBe(false);
  });

  it('are forgotten some time after they were due, so that those that others run do not pile up', () => {
    let at = 0;
    const postponed = new PostponedResponses({ now: () => at });
    for (let count = 0; count < 10_000; count += 1) postponed.add(`r${count}`, 1_000);
    at = 601_000;
    postponed.add('last', 1_000);
    expect(postponed.size).toBe(1);
  });
});
