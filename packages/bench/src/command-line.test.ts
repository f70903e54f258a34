import { describe, expect, it } from 'vitest';
import { parseCommandLine, usage } from './command-line.ts';

const parse = (...flags: string[]) => parseCommandLine(flags, 'page.md');

describe('the flags of the benchmark', () => {
  it('are none for a whole run, which writes the page', () => {
    expect(parse()).toEqual({
      quick: false,
      scenarios: [],
      rivals: [],
      against: undefined,
      output: 'page.md',
      keeps: 'sections',
      profile: undefined,
      build: true,
      guard: 'hold',
    });
  });

  it.each([['--quick'], ['--scenario', 'backlog'], ['--profile', 'folder'], ['--with', 'portkey']])(
    'write no page for %s %s',
    (...flags) => {
      expect(parse(...flags)).toMatchObject({ output: undefined });
    },
  );

  it('write single sections on the page', () => {
    expect(parse('--scenario', 'backlog', '--write')).toMatchObject({
      output: 'page.md',
      keeps: 'sections and head',
    });
    expect(parse('--scenario', 'backlog', '--output', 'other.md')).toMatchObject({
      output: 'other.md',
      keeps: 'nothing',
    });
    expect(() => parse('--write', '--quick')).toThrow('--write needs a run without --quick');
  });

  it('ask for a comparison with gateways and with durable peers', () => {
    expect(parse('--with', 'litellm,portkey')).toMatchObject({
      scenarios: ['gateways'],
      rivals: ['litellm', 'portkey'],
    });
    expect(parse('--with', 'pg-boss')).toMatchObject({ scenarios: ['durable-peers'], rivals: ['pg-boss'] });
    expect(() => parse('--with', 'portkey,envoy')).toThrow(
      "There is nothing called 'envoy' to compare with: use portkey, litellm, restate, temporal, pg-boss, graphile-worker.",
    );
    expect(usage).toContain('portkey,litellm');
  });

  it('ask for a comparison with another build', () => {
    expect(parse('--against', '../former')).toMatchObject({
      scenarios: ['former-build'],
      against: '../former',
      output: undefined,
    });
  });

  it('hold the costs against those of the last release where figures mean something', () => {
    expect(parse('--scenario', 'streams')).toMatchObject({ guard: 'hold' });
    expect(parse('--quick')).toMatchObject({ guard: 'none' });
    expect(parse('--profile', 'folder')).toMatchObject({ guard: 'none' });
    expect(parse('--renew-guard')).toMatchObject({ guard: 'renew' });
    expect(() => parse('--renew-guard', '--quick')).toThrow('--renew-guard needs a run without --quick');
  });

  it('are told for help, and refused where they are unknown', () => {
    expect(parse('--help')).toBe('help');
    expect(() => parse('--fast')).toThrow(TypeError);
  });
});
