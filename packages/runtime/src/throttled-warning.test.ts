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
    const { warn } = throttledWarning(logger, 'store error', () => now);
    for (; now < 25_000; now += 1_000) warn(new Error(`at ${now}`));
    const logged = lines.map((line) => JSON.parse(line) as { err: { message: string }; suppressed: number });
    expect(logged.map(({ err, suppressed }) => [err.message, suppressed])).toEqual([
      ['at 0', 0],
      ['at 10000', 9],
      ['at 20000', 9],
    ]);
  });

  it('is followed by the recovery, once there was something to recover from', () => {
    const lines: string[] = [];
    const logger = createLogger({
      name: 'test',
      level: 'info',
      destination: { write: (line) => lines.push(line) },
    });
    const { warn, restored } = throttledWarning(logger, 'store error', () => 0);
    restored('store back');
    expect(lines).toEqual([]);
    for (let at = 0; at < 3; at += 1) warn(new Error('away'));
    restored('store back');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', msg: 'store error', suppressed: 0 },
      { level: 'info', msg: 'store back', suppressed: 2 },
    ]);
  });
});
