import { describe, expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { throttledWarning } from './throttled-warning.ts';

describe('a throttled warning', () => {
  it('logs the first error, then one in ten seconds with the number of those before it', () => {
    const lines: string[] = [];
    const logger = createLogger({
      name: 'test',
      level: 'info',
      destination: { write: (line) => lines.push(line) },
    });
    let now = 0;
    const warn = throttledWarning(logger, 'store error', () => now);
    for (; now < 25_000; now += 1_000) warn(new Error(`at ${now}`));
    const logged = lines.map((line) => JSON.parse(line) as { err: { message: string }; suppressed: number });
    expect(logged.map(({ err, suppressed }) => [err.message, suppressed])).toEqual([
      ['at 0', 0],
      ['at 10000', 9],
      ['at 20000', 9],
    ]);
  });
});
