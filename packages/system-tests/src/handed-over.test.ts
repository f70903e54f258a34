import { checkEventGrammar, latch, within } from '@sluice/testing';
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import type { StreamEvent } from './read-stream.ts';
import { startService } from './service.ts';

it('an api that stops before a stream is over leaves it to be resumed at another', async () => {
  await using service = await startService({ apis: 2, workers: 1, settings: { drainTimeoutMs: 4_000 } });
  const [leaving = expect.unreachable(), staying = expect.unreachable()] = service.apis;
  const seen: StreamEvent[] = [];
  const begun = latch();
  const cut = callerOf(leaving.url, service.key).stream(
    { input: 'Take your time. [[sluice: tokens=300 tokens_per_second=30]]' },
    {
      onEvent: (event) => {
        seen.push(event);
        if (seen.length === 10) begun.open();
      },
    },
  );
  const ending = cut.catch(() => 'cut');
  await begun.wait();
  leaving.signal('SIGTERM');
  expect(await within(ending)).toBe('cut');
  expect(await within(leaving.exited)).toMatchObject({ code: 0 });

  // It is not in the background. It goes on because its callers have time to come back.
  const id = seen[0]?.response?.id ?? expect.unreachable();
  const client = new OpenAI({ baseURL: `${staying.url}/v1`, apiKey: service.key, maxRetries: 0 });
  const last = seen.at(-1)?.sequence_number ?? expect.unreachable();
  const rest = await client.responses.retrieve(id, { stream: true, starting_after: last });
  const events: unknown[] = [...seen];
  for await (const event of rest) events.push(event);
  expect(checkEventGrammar(events)).toEqual([]);
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } });
});
