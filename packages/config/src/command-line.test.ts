import { describe, expect, it } from 'vitest';
import { describeFlags, wantsHelp } from './command-line.ts';

describe('describeFlags', () => {
  it('lists the flags of a role with variables, units and defaults', () => {
    const text = describeFlags('start');
    expect(text).toMatch(/--port VALUE +Port of the API; 0 takes a free one\. \[PORT, 3000\]/);
    expect(text).toMatch(/--drain-timeout-ms VALUE .*\(ms\) \[DRAIN_TIMEOUT_MS, 30000\]/);
    expect(text).toContain('--workers');
    expect(describeFlags('api')).not.toContain('--workers');
  });
});

describe('wantsHelp', () => {
  it('sees --help and -h anywhere', () => {
    expect(wantsHelp(['--port', '--help'])).toBe(true);
    expect(wantsHelp(['-h'])).toBe(true);
    expect(wantsHelp(['--host', 'help'])).toBe(false);
  });
});
