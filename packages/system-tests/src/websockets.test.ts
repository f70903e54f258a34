import { eventually } from '@sluice/testing';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import type { ResponsesServerEvent } from 'openai/resources/responses/responses';
import { expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { startService } from './service.ts';

/** The official client at a WebSocket of an api, and what it was sent. */
function connect(url: string, key: string) {
  const ws = new ResponsesWS(new OpenAI({ baseURL: `${url}/v1`, apiKey: key }), { reconnect: null });
  const events: ResponsesServerEvent[] = [];
  ws.on('event', (event) => events.push(event));
  // Told by what arrives instead.
  ws.on('error', () => undefined);
  const closed = new Promise<number>((resolve) => ws.on('close', (code) => resolve(code)));
  const arrived = <Type extends ResponsesServerEvent['type']>(type: Type, from = 0) =>
    eventually(() =>
      events
        .slice(from)
        .find((event): event is Extract<ResponsesServerEvent, { type: Type }> => event.type === type),
    );
  return {
    ws,
    closed,
    arrived,
    async turn(fields: { input: string; previous_response_id?: string; store?: boolean }) {
      const from = events.length;
      ws.send({ type: 'response.create', model: 'simulator', ...fields });
      return (await arrived('response.completed', from)).response;
    },
  };
}

const slow = 'Talk. [[sluice: tokens=60 tokens_per_second=30]]';
/** Longer than it takes to notice that an api is gone. */
const long = 'Talk. [[sluice: tokens=5000 tokens_per_second=30]]';

// Each has a service of its own. One waits for the lease of a dead api to lapse.
it.concurrent('continues what is stored over another api when the first one is killed, and nothing of it runs on', async () => {
  await using service = await startService({ apis: 2 });
  const [first = '', second = ''] = service.apiUrls;
  const client = connect(first, service.key);
  const stored = await client.turn({ input: 'One.' });
  client.ws.send({ type: 'response.create', model: 'simulator', input: long });
  const cut = await client.arrived('response.created', 1);
  await client.arrived('response.output_text.delta');
  await service.apis[0]?.kill();
  expect(await client.closed).toBe(1006);

  const other = connect(second, service.key);
  const next = await other.turn({ input: 'Two.', previous_response_id: stored.id });
  expect(next).toMatchObject({ status: 'completed', previous_response_id: stored.id });
  const caller = callerOf(second, service.key);
  await eventually(async () => (await caller.get(cut.response.id)).body.status === 'cancelled', {
    timeoutMs: 40_000,
  });
  other.ws.close();
});

it.concurrent('finishes its turn when its api is told to stop, and says that another connection is to be made', async () => {
  await using service = await startService({ apis: 2 });
  const [first = '', second = ''] = service.apiUrls;
  const client = connect(first, service.key);
  const running = client.turn({ input: slow, store: false });
  await client.arrived('response.output_text.delta');
  const stopped = service.apis[0]?.stop();
  expect(await running).toMatchObject({ status: 'completed' });
  expect(await client.closed).toBe(1012);
  expect(await stopped).toMatchObject({ code: 0 });

  const other = connect(second, service.key);
  other.ws.send({
    type: 'response.create',
    model: 'simulator',
    input: 'Two.',
    previous_response_id: (await running).id,
  });
  expect(await other.arrived('error')).toMatchObject({ error: { code: 'previous_response_not_found' } });
  expect((await other.turn({ input: 'Everything again.' })).status).toBe('completed');
  other.ws.close();
});
