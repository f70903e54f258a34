import { eventually, within } from '@sluice/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { textOf } from './read-stream.ts';
import { type Service, startService } from './service.ts';
import { runningAttempts } from './worker-metrics.ts';

let service: Service;

beforeAll(async () => {
  service = await startService({ apis: 2, workers: 3 });
});
afterAll(() => service?.stop());

/** Callers of the two apis, alternating. */
const callers = () => service.apiUrls.map((url) => callerOf(url, service.key));
const callerFor = (at: number) => callers()[at % 2] ?? expect.unreachable();
const otherCallerFor = (at: number) => callerFor(at + 1);

it('answers at one api for what was created at the other', async () => {
  const created = await callerFor(0).create({ input: 'Hello.' });
  expect(created.status).toBe(200);
  const read = await otherCallerFor(0).get(created.body.id);
  expect(read.body).toEqual(created.body);
});

it('carries 200 concurrent streams, complete, in order, without gap or repeat', async () => {
  const streams = await Promise.all(
    Array.from({ length: 200 }, (_, at) =>
      callerFor(at).stream({
        input: `Talk about topic-${at}. [[sluice: tokens=40 tokens_per_second=40]]`,
      }),
    ),
  );
  for (const [at, { final, text, events }] of streams.entries()) {
    expect(final.status).toBe('completed');
    expect(text).toBe(final.output_text);
    expect(text).toContain(`topic-${at}`);
    expect(events.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(40);
  }
  expect(new Set(streams.map(({ final }) => final.id)).size).toBe(200);

  const read = await Promise.all(streams.map(({ final }, at) => otherCallerFor(at).get(final.id)));
  expect(read.map(({ body }) => body)).toEqual(streams.map(({ final }) => final));
});

it('loses nothing when a worker is stopped with SIGTERM', async () => {
  const running = Array.from({ length: 30 }, (_, at) => {
    let seen = '';
    const input = `Talk about topic-${at}. [[sluice: tokens=30 tokens_per_second=15]]`;
    const stream = callerFor(at).stream({ input }, { onEvent: (event) => (seen += textOf([event])) });
    return { stream, hasBegun: () => seen !== '' };
  });
  await eventually(() => running.every(({ hasBegun }) => hasBegun()));
  // Which worker takes how many is left to chance.
  const shares = await Promise.all(service.workers.map(({ healthUrl }) => runningAttempts(healthUrl)));
  const leaving = service.workers[shares.indexOf(Math.max(...shares))] ?? expect.unreachable();

  leaving.signal('SIGTERM');
  const more = callerFor(0).create({ input: 'Sent while a worker stops.' });

  const streams = await Promise.all(running.map(({ stream }) => stream));
  expect(streams.map(({ final }) => final.status)).toEqual(Array.from({ length: 30 }, () => 'completed'));
  expect((await more).body.status).toBe('completed');
  await expect(within(leaving.exited)).resolves.toEqual({ code: 0, signal: null });
});
