import { describe, expect, it } from 'vitest';
import type { BenchValues } from './bench-flags.ts';
import { readBenchSettings } from './bench-settings.ts';

describe('the flags of bench', () => {
  it('have defaults for a first short run', () => {
    expect(readBenchSettings({})).toMatchObject({
      mix: [{ value: 'stream', weight: 1 }],
      input: { kind: 'invented', tokens: 100 },
      load: { kind: 'closed', concurrency: 10 },
      extent: { requests: 100 },
      warmup: undefined,
      timeoutMs: 600_000,
      retries: 0,
      pollIntervalMs: 1000,
      seed: expect.any(Number),
    });
  });

  it('are read', () => {
    const values: BenchValues = {
      mode: 'whole=60, stream=30,background=10',
      'input-tokens': '2000',
      model: 'm',
      'max-output-tokens': '32',
      'service-tier': 'flex',
      header: ['X-Team: a: b', 'x-other:c'],
      rate: '12.5',
      arrivals: 'constant',
      'most-outstanding': '7',
      requests: '20',
      duration: '1.5m',
      warmup: '250ms',
      timeout: '30s',
      retry: '3',
      'poll-interval': '100ms',
      seed: '7',
      json: true,
    };
    expect(readBenchSettings(values)).toEqual({
      mix: [
        { value: 'whole', weight: 60 },
        { value: 'stream', weight: 30 },
        { value: 'background', weight: 10 },
      ],
      input: { kind: 'invented', tokens: 2000 },
      body: { model: 'm', maxOutputTokens: 32, serviceTier: 'flex' },
      headers: { 'x-team': 'a: b', 'x-other': 'c' },
      load: { kind: 'open', rate: 12.5, arrivals: 'constant', mostOutstanding: 7 },
      extent: { requests: 20, durationMs: 90_000 },
      warmup: { durationMs: 250 },
      timeoutMs: 30_000,
      retries: 3,
      pollIntervalMs: 100,
      seed: 7,
      json: true,
    });
  });

  it('stop by the time alone when there is a duration', () => {
    expect(readBenchSettings({ duration: '30s' }).extent).toEqual({ durationMs: 30_000 });
  });

  it('leave the mode to the bodies of a file, unless it is given', () => {
    expect(readBenchSettings({ input: 'x.jsonl' }).mix).toBeUndefined();
    expect(readBenchSettings({ input: 'x.jsonl', mode: 'whole' }).mix).toEqual([
      { value: 'whole', weight: 1 },
    ]);
  });

  it('count a warm-up in requests, too', () => {
    expect(readBenchSettings({ warmup: '5' }).warmup).toEqual({ requests: 5 });
    expect(readBenchSettings({ warmup: '0' }).warmup).toBeUndefined();
  });

  it.each<[BenchValues, RegExp]>([
    [{ mode: 'whole=60,strem=1' }, /^--mode: there is no 'strem': use 'whole', 'stream', 'background'/],
    [{ mode: 'whole=1,whole=2' }, /^--mode: 'whole' is there twice/],
    [{ mode: 'whole=1.5' }, /^--mode: 'whole=1.5' is not a name and a whole number/],
    [{ mode: 'whole=1=2' }, /^--mode: 'whole=1=2' is not/],
    [{ mode: 'whole=0' }, /^--mode: all weights are 0/],
    [{ mode: 'whole=9999,stream=2' }, /^--mode: the weights add up to 10001; 10000 is the most/],
    [{ mode: '' }, /^--mode: there is no ''/],
    [{ requests: '0' }, /^--requests: '0' is not a whole number from 1 to/],
    [{ requests: '1e3' }, /^--requests: '1e3' is not a whole number/],
    [{ concurrency: '50001' }, /^--concurrency: '50001' is not a whole number from 1 to 50000/],
    [{ rate: '0' }, /^--rate: '0' is not a number from 0.001 to 1000000/],
    [{ rate: '5', concurrency: '5' }, /^--concurrency: is for the closed loop .* use --most-outstanding/],
    [{ rate: '5', arrivals: 'even' }, /^--arrivals: 'even' is neither poisson nor constant/],
    [{ arrivals: 'poisson' }, /^--arrivals: is for the open loop; give --rate, too/],
    [{ 'most-outstanding': '5' }, /^--most-outstanding: is for the open loop; give --rate, too/],
    [{ duration: '30' }, /^--duration: '30' is not a duration; give a number and its unit/],
    [{ timeout: '2h' }, /^--timeout: '2h' is not between 1ms and 1h/],
    [{ 'poll-interval': '1ms' }, /^--poll-interval: '1ms' is not between 10ms and 1m/],
    [{ warmup: 'x' }, /^--warmup: 'x' is neither a number of requests nor a duration/],
    [{ input: 'a', prompt: 'b' }, /^--prompt: --input has the input already/],
    [{ input: 'a', 'input-tokens': '5' }, /^--input-tokens: --input has the input already/],
    [{ prompt: 'a', 'input-tokens': '5' }, /^--input-tokens: --prompt has the input already/],
    [{ prompt: ' ' }, /^--prompt: is empty/],
    [{ model: '' }, /^--model: is empty/],
    [{ header: ['no colon'] }, /^--header: header 1 is not 'NAME: VALUE'/],
    [{ header: ['a: b\nc: d'] }, /^--header: header 1 is not/],
    [{ header: ['Content-Type: x'] }, /^--header: 'Content-Type' is set by the tool/],
    [{ seed: '-1' }, /^--seed: '-1' is not a whole number/],
  ])('are refused by name: %j', (values, message) => {
    expect(() => readBenchSettings(values)).toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) }),
    );
  });
});
