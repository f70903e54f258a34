import { afterAll, beforeAll, expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { type Service, startService } from './service.ts';

let service: Service;

beforeAll(async () => {
  service = await startService({ apis: 2, workers: 3 });
});
afterAll(() => service?.stop());

/** Callers of the two apis, alternating. */
const callers = () => service.apiUrls.map((url) => callerOf(url, service.key));
const callerFor = (at: number) => callers()[at % 2] ?? expect.unreachable();
const otherCallerFor = (at: number) => callerFor(at + 1);

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
