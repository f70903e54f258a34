import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests, eventually, startFakeUpstream } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';
import { type SluiceProcess, startProcess } from './sluice-process.ts';

const keys = { 'team-a': 'sk-team-a-0123456789abcdef', 'team-b': 'sk-team-b-0123456789abcdef' };

const directory = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-bench-')));
const service = testService(() => ({
  settings: {
    providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 5, tokensPerSecond: 0 }],
    models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    keys: [
      { name: 'team-a', key: keys['team-a'], limits: { requestsPerMinute: 100_000 } },
      { name: 'team-b', key: keys['team-b'], limits: { requestsPerMinute: 5 } },
    ],
  },
}));

function start(args: readonly string[], env: Record<string, string> = {}): SluiceProcess {
  return startProcess({ command: 'bench', args, env, cwd: directory.path });
}

/** Runs `sluice bench` to its end. */
async function bench(...args: string[]): Promise<{ code: number | null; out: string; errors: string }> {
  const process = start(['--url', `${service.apiUrls[0]}/v1`, ...args]);
  const { code } = await process.exited;
  return { code, out: reportIn(process), errors: process.errors() };
}

/** What a process has printed on standard output. */
function reportIn(process: SluiceProcess): string {
  return process.output().replace(process.errors(), '');
}

interface Group {
  answered: number;
  errors: number;
  output_tokens: number;
}

interface PrintedReport {
  all: Group & Record<string, unknown>;
  modes: Record<string, Group>;
  tenants: Record<string, Group>;
  settings: Record<string, unknown>;
}

const parsed = (out: string) => JSON.parse(out) as PrintedReport;

/** Every response of a tenant that the service knows of. */
async function stored(key: string): Promise<{ status: string; background: boolean }[]> {
  const found: { id: string; status: string; background: boolean }[] = [];
  for (let after = ''; ; ) {
    const page = await fetch(`${service.apiUrls[0]}/v1/responses?limit=100${after}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { data, has_more } = (await page.json()) as { data: typeof found; has_more: boolean };
    found.push(...data);
    const last = data.at(-1);
    if (!has_more || !last) return found;
    after = `&after=${last.id}`;
  }
}

describe('sluice bench', () => {
  it('sends what it says, and reports what the service has done, to the last request', async () => {
    const before = (await stored(keys['team-a'])).length;
    const { code, out, errors } = await bench(
      ...['--key', `team-a=${keys['team-a']}`, '--mode', 'whole=60,stream=30,background=10', '--json'],
      ...['--requests', '120', '--concurrency', '12', '--prompt', 'Hi [[sluice: tokens=7]]', '--warmup', '5'],
    );
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    const report = parsed(out);
    expect(report.settings).toMatchObject({ model: 'simulator', requests: 120 });
    expect(report.all).toMatchObject({ requests: 120, answered: 120, errors: 0, output_tokens: 840 });
    expect(report.all['output_events']).toBe(36 * 7);
    expect(report.modes).toMatchObject({
      whole: { answered: 72, output_tokens: 504 },
      stream: { answered: 36, output_tokens: 252 },
      background: { answered: 12, output_tokens: 84 },
    });
    expect(out).not.toContain(keys['team-a']);
    const responses = await stored(keys['team-a']);
    // The five of the warm-up are stored as well.
    expect(responses.length - before).toBe(125);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set(['completed']));
  });

  it('tells tenants apart, counts what was refused, and ends with 1', async () => {
    await writeFile(
      join(directory.path, 'keys.txt'),
      Object.entries(keys)
        .map(([name, key]) => `${name}=${key}\n`)
        .join(''),
    );
    const { code, out, errors } = await bench(
      ...[
        '--keys',
        'keys.txt',
        '--tenants',
        'team-a=1,team-b=1',
        '--mode',
        'whole',
        '--requests',
        '40',
        '--json',
      ],
    );
    const { all, tenants } = parsed(out);
    expect(tenants['team-a']).toMatchObject({ answered: 20, errors: 0 });
    expect(tenants['team-b']).toMatchObject({ answered: 5, errors: 15 });
    expect(all).toMatchObject({
      errors_by_cause: [{ kind: 'status', status: 429, code: 'rate_limit_exceeded', count: 15 }],
      rate_limited: { count: 15, retry_after_ms: { count: 15 } },
    });
    expect({ code, errors }).toEqual({ code: 1, errors: 'sluice: 15 of 40 requests were not answered.\n' });
  });

  it('drives an open loop, and prints a report for people without progress in between', async () => {
    const { code, out, errors } = await bench(
      ...[
        '--key',
        keys['team-a'],
        '--rate',
        '200',
        '--requests',
        '50',
        '--mode',
        'stream',
        '--input-tokens',
        '9',
      ],
    );
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(out).toMatch(/^Load +open loop, 200 a second, poisson arrivals, 50 requests$/m);
    expect(out).toMatch(/^ {2}all +50 +0 +[\d.]+ +[\d.,]+$/m);
    expect(out).toMatch(/^Time to first token +p50 +p90 +p99 +max$/m);
    expect(out).not.toContain('\u001b');
  });

  it('takes the key and the service from the environment', async () => {
    const env = { SLUICE_URL: service.apiUrls[0] ?? '', SLUICE_API_KEY: keys['team-a'] };
    const process = start(['--requests', '3', '--json'], env);
    expect(await process.exited).toMatchObject({ code: 0 });
    expect(parsed(process.output()).modes).toMatchObject({ stream: { answered: 3 } });
  });

  it('stops at the first Ctrl-C and reports, and ends at once at the second', async () => {
    const upstream = await startFakeUpstream();
    const held: (() => void)[] = [];
    upstream.onResponses(async ({ json, signal }) => {
      await new Promise<void>((resolve) => {
        held.push(resolve);
        signal.addEventListener('abort', () => resolve());
      });
      json(200, { id: 'resp_1', status: 'completed', output: [] });
    });
    const args = [
      '--url',
      upstream.baseUrl,
      '--model',
      'm',
      '--mode',
      'whole',
      '--concurrency',
      '3',
      '--json',
    ];
    const first = start([...args, '--duration', '1h']);
    await eventually(() => held.length === 3);
    first.signal('SIGINT');
    await first.printed(/waiting for requests in flight/);
    expect(first.isRunning()).toBe(true);
    for (const answer of held.splice(0)) answer();
    expect(await first.exited).toMatchObject({ code: 0 });
    const { all } = parsed(reportIn(first));
    expect(all).toMatchObject({ requests: 3, answered: 3, errors: 0, unfinished: 0 });

    const second = start([...args, '--duration', '1h']);
    await eventually(() => held.length === 3);
    second.signal('SIGINT');
    await second.printed(/waiting for requests in flight/);
    second.signal('SIGINT');
    expect(await second.exited).toMatchObject({ code: 130 });
    expect(parsed(reportIn(second)).all).toMatchObject({ requests: 3, answered: 0, unfinished: 3 });
    await upstream.close();
  });

  it.each([
    [['--mode', 'fast'], /--mode: there is no 'fast'/],
    [['--rate', '5', '--concurrency', '5'], /--concurrency: is for the closed loop/],
    [['--input', 'nowhere.jsonl'], /--input: the file cannot be read/],
    [
      ['--key', 'sk-wrong-0123456789', '--requests', '1'],
      /--model: http\S+\/v1\/models, .* 401 invalid_api_key/,
    ],
    [['simulator'], /every argument has a flag/],
    [['--nope'], /--nope/],
  ])('says what is wrong with %j, and ends with 2', async (args, message) => {
    const { code, errors } = await bench(...args);
    expect({ code, errors }).toEqual({ code: 2, errors: expect.stringMatching(message) });
  });
});
