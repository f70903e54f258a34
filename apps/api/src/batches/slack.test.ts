import { createLogger } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { Slack } from './slack.ts';

const never = new AbortController().signal;
let slack: Slack | undefined;

afterEach(() => slack?.stop());

/** Room for 20 beside others, and lines that want it. */
function aQueue({ capacity = 20 }: { capacity?: number } = {}) {
  const lines: (() => void)[] = [];
  const queue = { others: 0, looks: 0 };
  slack = new Slack({
    capacityOf: () => Promise.resolve(capacity),
    openIn: () => {
      queue.looks += 1;
      return Promise.resolve(queue.others + lines.length);
    },
    logger: createLogger({ name: 'test', level: 'silent' }),
    everyMs: 1,
  });
  const made = slack;
  return {
    queue,
    lines,
    begin: async (count: number, stop: AbortSignal = never) => {
      await Promise.all(
        Array.from({ length: count }, async () => {
          lines.push(await made.enter('q', stop));
        }),
      );
    },
    /** Ends the oldest of the lines that run. */
    endOne: () => lines.shift()?.(),
    /** Resolves after so many further looks. */
    looks: (count: number) => {
      const from = queue.looks;
      return eventually(() => queue.looks >= from + count);
    },
  };
}

describe('the room for lines of batches', () => {
  it('is all but a tenth while nobody else is there', async () => {
    const { begin, lines, endOne, looks } = aQueue();
    await begin(1);
    await looks(60);
    void begin(30);
    await eventually(() => lines.length === 18);
    await looks(3);
    expect(lines).toHaveLength(18);
    endOne();
    await eventually(() => lines.length === 18);
  });

  it('leaves others as many places as they have had open, until they are forgotten', async () => {
    const { begin, lines, endOne, looks, queue } = aQueue();
    queue.others = 8;
    await begin(1);
    await looks(60);
    void begin(100);
    await eventually(() => lines.length === 10);
    queue.others = 15;
    await looks(60);
    while (lines.length > 3) endOne();
    await looks(3);
    expect(lines).toHaveLength(3);
    queue.others = 0;
    await looks(60);
    await eventually(() => lines.length === 18);
  });

  it('is that of one line where others want everything', async () => {
    const { begin, lines, endOne, queue } = aQueue({ capacity: 1 });
    queue.others = 100;
    void begin(2);
    await eventually(() => lines.length === 1);
    endOne();
    await eventually(() => lines.length === 1);
  });

  it('is not waited for by a line that is to stop', async () => {
    const { begin, lines, queue } = aQueue({ capacity: 1 });
    queue.others = 100;
    await begin(1);
    const stop = new AbortController();
    const second = begin(1, stop.signal);
    stop.abort();
    await second;
    expect(lines).toHaveLength(2);
  });
});
