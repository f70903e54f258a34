import { describe, expect, it } from 'vitest';
import { readBenchSettings } from '../flags/bench-settings.ts';
import { printedReport } from './print-report.ts';
import { type Report, reportOf } from './report.ts';
import { RunTally } from './tally.ts';
import { readTenants } from '../flags/tenants.ts';

const same = (text: string) => text;
const plain = { title: same, quiet: same, bad: same, warn: same };

const tenants = readTenants(
  { keys: ['team-a=sk-secret-a', 'team-b=sk-secret-b'], file: undefined, mix: undefined },
  undefined,
);
const settings = readBenchSettings({
  ...{ mode: 'whole=60,stream=30,background=10', model: 'simulator', seed: '7', rate: '50' },
  ...{ duration: '30s', warmup: '20', retry: '2', 'max-output-tokens': '64' },
});

/** A report of a run that never was, with each kind of figure. */
function example(change: (tally: RunTally) => void = () => undefined): Report {
  const tally = new RunTally();
  const groups = (mode: string, name: string) => tally.groupsOf({ mode, tenant: { name }.name });
  for (let at = 1; at <= 90; at++) {
    const tokens = { input: 10, output: 20 };
    groups('whole', 'team-a').end({ kind: 'answered', endedAt: at * 10, tokens, deltas: 0 }, 0);
    groups('stream', 'team-b').end(
      { kind: 'answered', endedAt: at * 20, firstDeltaAt: at, tokens, deltas: 20 },
      0,
    );
    groups('stream', 'team-b').gap(at / 10);
  }
  groups('background', 'team-a').end(
    { kind: 'answered', endedAt: 125_000, acceptedAt: 4.2, tokens: undefined, deltas: 0 },
    0,
  );
  const limited = {
    kind: 'status',
    status: 429,
    code: 'rate_limit_exceeded',
    message: 'Slow down.',
  } as const;
  const late = { kind: 'timeout', message: 'no end within 10 min', isRetryable: false } as const;
  for (let at = 0; at < 3; at++) {
    groups('whole', 'team-b').end({ kind: 'failed', failure: { ...limited, isRetryable: true } }, 0);
    groups('whole', 'team-b').limited(1500);
  }
  groups('stream', 'team-a').end({ kind: 'failed', failure: late }, 0);
  groups('stream', 'team-a').retried();
  change(tally);
  return reportOf({
    settings,
    url: 'http://127.0.0.1:3000/v1',
    tenants,
    startedAt: new Date(0),
    result: { tally, elapsedMs: 30_000, endedBy: 'extent', busyShare: 0.2 },
  });
}

describe('a printed report', () => {
  it('shows the settings, each figure of each group, and the errors', () => {
    expect(printedReport(example(), plain)).toMatchInlineSnapshot(`
      "Endpoint   http://127.0.0.1:3000/v1
      Model      simulator
      Load       open loop, 50 a second, poisson arrivals, 30 s, after 20 requests of warm-up
      Modes      whole 60 %, stream 30 %, background 10 %
      Tenants    team-a 50 %, team-b 50 %
      Input      about 100 tokens, different each time; seed 7
      Requests   at most 64 output tokens, time-out 10 min, up to 2 retries

      Throughput, 30.0 s      answered      errors  requests/s  out tokens/s
        all                        181           4        6.03           120
        whole                       90           3        3.00          60.0
        stream                      90           1        3.00          60.0
        background                   1           0        0.03             -
        tenant team-a               91           1        3.03          60.0
        tenant team-b               90           3        3.00          60.0

      Time to first token          p50         p90         p99         max
        stream                 45.0 ms     81.0 ms     90.0 ms     90.0 ms
        tenant team-b          45.0 ms     81.0 ms     90.0 ms     90.0 ms

      Time between tokens          p50         p90         p99         max
        stream                 4.50 ms     8.10 ms     9.00 ms     9.00 ms
        tenant team-b          4.50 ms     8.10 ms     9.00 ms     9.00 ms

      Time to acceptance           p50         p90         p99         max
        background             4.20 ms     4.20 ms     4.20 ms     4.20 ms
        tenant team-a          4.20 ms     4.20 ms     4.20 ms     4.20 ms

      Latency                      p50         p90         p99         max
        all                     609 ms      1.46 s      1.80 s      2m 05s
        whole                   450 ms      810 ms      900 ms      900 ms
        stream                  900 ms      1.62 s      1.80 s      1.80 s
        background              2m 05s      2m 05s      2m 05s      2m 05s
        tenant team-a           460 ms      820 ms      2m 05s      2m 05s
        tenant team-b           900 ms      1.62 s      1.80 s      1.80 s

      Errors
               3  429 rate_limit_exceeded  Slow down.
               1  time-out                 no end within 10 min

      429      3 times, told to wait 1.50 s (p50), 1.50 s (max)
      Retries  1"
    `);
  });

  it('has the figures of all alone when there is one mode and one tenant', () => {
    const tally = new RunTally();
    const groups = tally.groupsOf({ mode: 'stream', tenant: { name: 'key-1' }.name });
    groups.end({ kind: 'answered', endedAt: 20, firstDeltaAt: 5, tokens: undefined, deltas: 4 }, 0);
    const report = reportOf({
      settings: readBenchSettings({ model: 'm', seed: '7', requests: '1' }),
      url: 'http://127.0.0.1:3000/v1',
      tenants: tenants.slice(0, 1),
      startedAt: new Date(0),
      result: { tally, elapsedMs: 1000, endedBy: 'extent', busyShare: 0 },
    });
    expect(printedReport(report, plain)).toMatchInlineSnapshot(`
      "Endpoint   http://127.0.0.1:3000/v1
      Model      m
      Load       closed loop, 10 at a time, 1 request
      Modes      stream
      Input      about 100 tokens, different each time; seed 7
      Requests   time-out 10 min

      Throughput, 1.00 s      answered      errors  requests/s  out events/s
        all                          1           0        1.00          4.00

      Time to first token          p50         p90         p99         max
        all                    5.00 ms     5.00 ms     5.00 ms     5.00 ms

      Latency                      p50         p90         p99         max
        all                    20.0 ms     20.0 ms     20.0 ms     20.0 ms"
    `);
  });

  it.each<[string, (tally: RunTally) => void, RegExp]>([
    [
      'requests that were not sent',
      (tally) => {
        tally.all.notSent = 12;
      },
      /not sent.*\n {2}all +181 +4 +12 [\s\S]*! 12 requests were due while 10,000 were outstanding/,
    ],
    [
      'requests that were given up',
      (tally) => {
        tally.all.unfinished = 2;
      },
      /! 2 requests were given up before their end/,
    ],
    [
      'a tool that was late',
      (tally) => {
        for (let at = 0; at < 10; at++) tally.lateness.add(40);
      },
      /! One request in ten was sent 40.0 ms late or more/,
    ],
  ])('remarks on %s', (_, change, text) => {
    expect(printedReport(example(change), plain)).toMatch(text);
  });

  it('marks errors and titles for a terminal', () => {
    const marked = { ...plain, bad: (text: string) => `<${text}>`, title: (text: string) => `*${text}*` };
    const text = printedReport(example(), marked);
    expect(text).toMatch(/^ {2}all +181 +< +4>/m);
    expect(text).toContain('*Errors*\n  <       3>  429 rate_limit_exceeded  Slow down.');
  });
});
