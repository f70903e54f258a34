import { type FakeUpstream, eventually, startFakeUpstream } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BenchValues } from '../flags/bench-flags.ts';
import { readBenchSettings } from '../flags/bench-settings.ts';
import { Endpoint, readUrl } from '../exchange/endpoint.ts';
import { type Report, reportOf } from '../report/report.ts';
import { samePrompt } from './request-bodies.ts';
import { type RunningPart, runLoad } from './run-load.ts';
import { readTenants } from '../flags/tenants.ts';

let upstream: FakeUpstream;
let endpoint: Endpoint;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  endpoint = new Endpoint({ url: readUrl(upstream.baseUrl), headers: {} });
});
afterEach(async () => {
  await endpoint.close();
  await upstream.close();
});

const keys = ['team-a=sk-secret-a', 'team-b=sk-secret-b'];

interface Run {
  stop?: AbortController;
  leave?: AbortController;
  onBegin?: (part: RunningPart) => void;
}

async function run(values: BenchValues, options: Run = {}): Promise<Report> {
  const { stop = new AbortController(), leave = new AbortController(), onBegin } = options;
  const settings = readBenchSettings({ model: 'm', seed: '1', ...values });
  const tenants = readTenants({ keys, file: undefined, mix: values.tenants }, undefined);
  const result = await runLoad({
    settings,
    endpoint,
    tenants,
    bodies: samePrompt('Hi'),
    stop: stop.signal,
    leave: leave.signal,
    ...(onBegin && { onBegin }),
  });
  return reportOf({ settings, url: upstream.baseUrl, tenants, startedAt: new Date(0), result });
}

const completed = {
  id: 'resp_1',
  status: 'completed',
  output: [],
  usage: { input_tokens: 2, output_tokens: 5 },
};

/** Answers each mode well, except for what a test refuses. */
function answerAll(
  refuse: (body: Record<string, unknown>, key: string) => object | undefined = () => undefined,
) {
  upstream.onResponses(async ({ request, json, stream }) => {
    const body = request.body as Record<string, unknown>; // The tool sends JSON objects.
    const refusal = refuse(body, request.headers.authorization ?? '');
    if (refusal) return json(429, { error: refusal }, { 'retry-after': '3' });
    if (body['background'] === true) return json(200, { id: 'resp_1', status: 'queued' });
    if (body['stream'] !== true) return json(200, completed);
    const events = stream();
    await events.event('response.output_text.delta', { delta: 'a' });
    await events.event('response.output_text.delta', { delta: 'b' });
    await events.event('response.completed', { response: completed });
    events.done();
  });
  upstream.onOther(({ json }) => json(200, completed));
}

describe('a run', () => {
  it('sends exactly the mix that was asked for, and counts each group', async () => {
    answerAll();
    const report = await run({
      ...{ mode: 'whole=6,stream=3,background=1', tenants: 'team-a=3,team-b=1' },
      ...{ requests: '40', concurrency: '8', 'max-output-tokens': '9' },
    });
    const posts = upstream.requests.filter(({ method }) => method === 'POST');
    const count = (has: (body: Record<string, unknown>) => boolean) =>
      posts.filter(({ body }) => has(body as Record<string, unknown>)).length;
    expect(posts).toHaveLength(40);
    expect([count((b) => b['stream'] === true), count((b) => b['background'] === true)]).toEqual([12, 4]);
    expect(posts.filter(({ headers }) => headers.authorization === 'Bearer sk-secret-b')).toHaveLength(10);
    expect(posts[0]?.body).toMatchObject({ model: 'm', input: 'Hi', max_output_tokens: 9 });

    expect(report.all).toMatchObject({
      ...{ requests: 40, answered: 40, errors: 0, not_sent: 0, unfinished: 0, retries: 0, polls: 4 },
      ...{ input_tokens: 80, output_tokens: 200, output_events: 24, errors_by_cause: [] },
    });
    expect(Object.entries(report.modes).map(([name, { answered }]) => [name, answered])).toEqual([
      ['whole', 24],
      ['stream', 12],
      ['background', 4],
    ]);
    expect(Object.entries(report.tenants).map(([name, { answered }]) => [name, answered])).toEqual([
      ['team-a', 30],
      ['team-b', 10],
    ]);
    expect(report.all.latency_ms?.count).toBe(40);
    expect(report.modes['stream']).toMatchObject({
      time_to_first_token_ms: { count: 12 },
      time_between_tokens_ms: { count: 12 },
      time_to_acceptance_ms: null,
    });
    expect(report.modes['background']?.time_to_acceptance_ms?.count).toBe(4);
    // The time is told in whole milliseconds, and a run may take a few dozen of them.
    const elapsed = 40 / report.all.requests_per_second;
    expect(Math.abs(elapsed - report.elapsed_seconds)).toBeLessThan(0.001);
  });

  it('counts errors by their cause and group, and never shows a key', async () => {
    answerAll((_, key) =>
      key.endsWith('b') ? { code: 'rate_limit_exceeded', message: `Slow down, ${key}!` } : undefined,
    );
    const report = await run({ mode: 'whole', requests: '20' });
    expect(report.all).toMatchObject({
      ...{ requests: 20, answered: 10, errors: 10 },
      errors_by_cause: [
        {
          ...{ kind: 'status', status: 429, code: 'rate_limit_exceeded', count: 10 },
          message: 'Slow down, Bearer ***!',
        },
      ],
      rate_limited: { count: 10, retry_after_ms: { p50: 3000, max: 3000 } },
    });
    expect(report.tenants['team-a']).toMatchObject({ answered: 10, errors: 0, errors_by_cause: [] });
    expect(report.tenants['team-b']).toMatchObject({ answered: 0, errors: 10, latency_ms: null });
    expect(JSON.stringify(report)).not.toContain('secret');
  });

  it('counts nothing of the warm-up', async () => {
    answerAll();
    const parts: string[] = [];
    const report = await run(
      { mode: 'whole', requests: '6', warmup: '4' },
      { onBegin: ({ name }) => parts.push(name) },
    );
    expect(upstream.requests).toHaveLength(10);
    expect(report.all.requests).toBe(6);
    expect(parts).toEqual(['warm-up', 'load']);
  });

  it('measures from when a request was due, so that a stall shows in all who waited', async () => {
    // The first answer comes after ten were due. Each of them has waited for its own share of the stall.
    let held = true;
    upstream.onResponses(async ({ json }) => {
      await eventually(() => !held);
      json(200, completed);
    });
    const running = run({ mode: 'whole', requests: '10', rate: '100', arrivals: 'constant' });
    await eventually(() => upstream.requests.length === 10);
    held = false;
    const { all, sent_late_ms } = await running;
    expect(all.latency_ms?.max).toBeGreaterThan(90);
    expect(all.latency_ms?.p50).toBeGreaterThan(40);
    expect(sent_late_ms?.count).toBe(10);
  });

  it('stops when it is told to and reports what there is', async () => {
    const stop = new AbortController();
    answerAll();
    upstream.onResponses(({ json }) => {
      if (upstream.requests.length === 5) stop.abort();
      json(200, completed);
    });
    const report = await run({ mode: 'whole', requests: '1000', concurrency: '1' }, { stop });
    expect(report).toMatchObject({ ended_by: 'interrupt', all: { requests: 5, answered: 5 } });
  });

  it('gives up what is under way when it is told to, and says how much', async () => {
    const [stop, leave] = [new AbortController(), new AbortController()];
    upstream.onResponses(({ hang }) => hang());
    const running = run({ mode: 'whole,stream', requests: '1000', concurrency: '6' }, { stop, leave });
    await eventually(() => upstream.requests.length === 6);
    stop.abort();
    leave.abort();
    expect(await running).toMatchObject({
      all: { requests: 6, answered: 0, errors: 0, unfinished: 6, latency_ms: null },
    });
  });
});
