import { randomUUID } from 'node:crypto';
import { checkEventGrammar, eventually } from '@sluice/testing';
import OpenAI from 'openai';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCuttableLine } from './cuttable-line.ts';
import { type DeliverySite, siteKeys, startDeliverySite } from './delivery-site.ts';
import { startRunning } from './running-response.ts';
import { endOf } from './scripted-upstream.ts';
import { storeContents } from './store-contents.ts';

let site: DeliverySite;

beforeAll(async () => {
  site = await startDeliverySite();
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
});

/** A client of one api. A test that reads at another api takes another client. */
function clientAt(at: number, url: string = site.api(at)): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: siteKeys.tester, maxRetries: 0 });
}

/** Reads events until the stream ends, and checks all events that the reader has against the grammar. */
async function readAll(
  stream: AsyncIterable<ResponseStreamEvent>,
  seen: ResponseStreamEvent[] = [],
): Promise<{ events: ResponseStreamEvent[]; final: Response }> {
  for await (const event of stream) seen.push(event);
  expect(checkEventGrammar(seen)).toEqual([]);
  const last = seen.at(-1);
  if (last === undefined || !('response' in last)) throw new Error('the stream has no end');
  return { events: seen, final: last.response };
}

/** The last request to the upstream. */
function lastMessages(): unknown {
  const request = site.upstream.fake.requests.at(-1);
  return (request?.body as { messages: unknown } | undefined)?.messages; // the format of our own provider
}

const slow = '[[sluice: tokens=40 tokens_per_second=200]]';

describe('background', () => {
  it('is answered at once and polled to its end, on another api', async () => {
    const created = await clientAt(0).responses.create({
      model: 'simulator',
      input: `Think about it. ${slow}`,
      background: true,
    });
    expect(['queued', 'in_progress']).toContain(created.status);
    expect(created).toMatchObject({ background: true, output: [], usage: null });
    const seen = new Set<string | undefined>();
    const done = await eventually(async () => {
      const polled = await clientAt(1).responses.retrieve(created.id);
      seen.add(polled.status);
      if (polled.status === 'completed') return polled;
      expect(polled).toMatchObject({ output: [], usage: null });
      return undefined;
    });
    expect([...seen]).toEqual(expect.arrayContaining(['in_progress', 'completed']));
    expect(done.output_text).not.toBe('');
    expect(done.usage?.total_tokens).toBeGreaterThan(0);
  });

  it('streams from the start when asked to', async () => {
    const stream = await clientAt(0).responses.create({
      model: 'simulator-reasoning',
      input: 'Say something.',
      background: true,
      stream: true,
    });
    const { final } = await readAll(stream);
    expect(final).toMatchObject({ status: 'completed', background: true });
  });
});

describe('retrieve with stream', () => {
  it('sends what stands behind starting_after and follows to the end', async () => {
    const { id } = await clientAt(0).responses.create({
      model: 'simulator',
      input: `Go on. ${slow}`,
      background: true,
    });
    const streamed = await clientAt(0).responses.create({
      model: 'simulator',
      input: `Go on. ${slow}`,
      background: true,
      stream: true,
    });
    const seen: ResponseStreamEvent[] = [];
    for await (const event of streamed) {
      seen.push(event);
      if (seen.length === 12) break;
    }
    const [first] = seen;
    if (first?.type !== 'response.created') throw new Error('the first event is another one');
    const rest = await clientAt(1).responses.retrieve(first.response.id, {
      stream: true,
      starting_after: 11,
    });
    const { events, final } = await readAll(rest, seen);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    expect(final).toEqual(expect.objectContaining({ status: 'completed' }));

    // The events of a response that was not created as a stream are derived, and are the same each time.
    const whole = await readAll(await clientAt(0).responses.retrieve(id, { stream: true }));
    const again = await readAll(await clientAt(1).responses.retrieve(id, { stream: true }));
    expect(again.events).toEqual(whole.events);
    expect(whole.final.output_text).toBe(final.output_text);
  });

  it('feeds the stream helper, while the response runs and after', async () => {
    const { id } = await clientAt(0).responses.create({
      model: 'simulator',
      input: `Tell more. ${slow}`,
      background: true,
    });
    const running = clientAt(1).responses.stream({ response_id: id });
    let text = '';
    running.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    const final = await running.finalResponse();
    expect(final).toMatchObject({ id, status: 'completed', output_text: text });

    const later = clientAt(0).responses.stream({ response_id: id, starting_after: 4 });
    const numbers: number[] = [];
    later.on('event', ({ sequence_number }) => void numbers.push(sequence_number));
    expect((await later.finalResponse()).output_text).toBe(text);
    expect(numbers[0]).toBe(5);
  });

  it('resumes after the socket was cut', async () => {
    const line = await startCuttableLine(site.api(0));
    try {
      const stream = await clientAt(0, line.url).responses.create({
        model: 'simulator',
        input: `Hold the line. ${slow}`,
        background: true,
        stream: true,
      });
      const seen: ResponseStreamEvent[] = [];
      const reading = (async () => {
        for await (const event of stream) {
          seen.push(event);
          if (seen.length === 15) line.cut();
        }
      })();
      await expect(reading).rejects.toThrow();
      const [first] = seen;
      if (first?.type !== 'response.created') throw new Error('the first event is another one');
      const starting_after = seen.at(-1)?.sequence_number ?? -1;
      const rest = await clientAt(1).responses.retrieve(first.response.id, { stream: true, starting_after });
      const { events, final } = await readAll(rest, seen);
      expect(final.status).toBe('completed');
      const again = await readAll(await clientAt(0).responses.retrieve(first.response.id, { stream: true }));
      expect(again.events).toEqual(events);
    } finally {
      await line.close();
    }
  });
});

describe('cancel', () => {
  it('keeps a queued response from the upstream', async () => {
    const holder = site.upstream.expect('nothing');
    const held = clientAt(0).responses.create({ model: 'narrow', input: holder.input });
    await holder.arrived.wait();
    const before = site.upstream.fake.requests.length;
    const created = await clientAt(0).responses.create({ model: 'narrow', input: 'Wait.', background: true });
    const cancelled = await clientAt(1).responses.cancel(created.id);
    expect(cancelled).toMatchObject({
      id: created.id,
      status: 'cancelled',
      output: [],
      incomplete_details: { reason: 'cancelled' },
    });
    const streamed = await readAll(await clientAt(0).responses.retrieve(created.id, { stream: true }));
    expect(streamed.events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.queued',
      'response.incomplete',
    ]);
    holder.finish();
    await held;
    await clientAt(0).responses.create({ model: 'narrow', input: 'Behind it.' });
    expect(site.upstream.fake.requests.length - before).toBe(1);
  });

  it.each(['before the first token', 'in mid-stream', 'of a synchronous call'] as const)(
    'ends a response %s, by another api',
    async (window) => {
      const { id, upstreamCall, answered } = await startRunning(site, window, 0);
      const cancelled = await clientAt(1).responses.cancel(id);
      expect((await endOf(upstreamCall)).ending).toBe('aborted');
      expect(cancelled).toMatchObject({
        id,
        status: 'cancelled',
        incomplete_details: { reason: 'cancelled' },
      });
      if (window === 'in mid-stream') {
        expect(cancelled.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
        expect(cancelled.output_text).toBe('Well');
      } else {
        expect(cancelled.output).toEqual([]);
      }
      expect(JSON.parse(await answered)).toEqual(cancelled);
      // A second cancellation changes nothing, and the stream shows the same end.
      await expect(clientAt(0).responses.cancel(id)).resolves.toMatchObject({ status: 'cancelled' });
      const { final } = await readAll(await clientAt(1).responses.retrieve(id, { stream: true }));
      expect(JSON.stringify(final)).toBe(JSON.stringify(cancelled));
    },
  );

  it('leaves a response that has ended as it is', async () => {
    const created = await clientAt(0).responses.create({ model: 'simulator', input: 'Done.' });
    const cancelled = await clientAt(1).responses.cancel(created.id);
    expect(JSON.stringify(cancelled)).toBe(JSON.stringify(created));
  });
});

describe('what is stored', () => {
  it('lists the input, page by page, in both orders', async () => {
    const client = clientAt(0);
    const { id } = await client.responses.create({
      model: 'simulator',
      input: [
        { role: 'developer', content: 'Be short.' },
        { role: 'user', content: [{ type: 'input_text', text: 'One.' }] },
        { role: 'assistant', content: 'Two.' },
        { role: 'user', content: 'Three.' },
      ],
    });
    const latestFirst = [];
    for await (const item of clientAt(1).responses.inputItems.list(id, { limit: 2 })) latestFirst.push(item);
    expect(latestFirst).toMatchObject([
      {
        type: 'message',
        role: 'user',
        status: 'completed',
        content: [{ type: 'input_text', text: 'Three.' }],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Two.' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'One.' }] },
      { role: 'developer', content: [{ type: 'input_text', text: 'Be short.' }] },
    ]);
    const page = await client.responses.inputItems.list(id, { order: 'asc', limit: 3 });
    expect(page.data).toEqual(latestFirst.toReversed().slice(0, 3));
    expect(page.has_more).toBe(true);
  });

  it('turns a plain text into one message of the user', async () => {
    const client = clientAt(0);
    const { id } = await client.responses.create({ model: 'simulator', input: 'Only this.' });
    const page = await client.responses.inputItems.list(id);
    expect(page.data).toMatchObject([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Only this.' }] },
    ]);
  });

  it('is gone once it is deleted, on every api', async () => {
    const canary = `canary ${randomUUID()}`;
    const { id, output_text } = await clientAt(0).responses.create({
      model: 'simulator',
      input: `Say ${canary}.`,
    });
    expect(output_text).toContain(canary);
    await clientAt(1).responses.delete(id);
    for (const at of [0, 1]) {
      const client = clientAt(at);
      for (const read of [
        () => client.responses.retrieve(id),
        () => client.responses.retrieve(id, { stream: true }),
        () => client.responses.cancel(id),
        () => client.responses.delete(id),
        () => client.responses.inputItems.list(id),
      ]) {
        await expect(read()).rejects.toMatchObject({ status: 404, code: 'not_found', param: 'id' });
      }
    }
    const left = await storeContents(site.service.redis);
    expect([...left].filter(([, content]) => content.includes(canary))).toEqual([]);
  });

  it('stops a running response that is deleted', async () => {
    const { id, upstreamCall } = await startRunning(site, 'in mid-stream', 0);
    await clientAt(1).responses.delete(id);
    expect((await endOf(upstreamCall)).ending).toBe('aborted');
    await expect(clientAt(0).responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });
});

describe('previous_response_id', () => {
  it('puts what was said before in front, in order, without instructions', async () => {
    const first = await clientAt(0).responses.create({
      model: 'scripted',
      instructions: 'Only for the first.',
      input: 'My name is Ada.',
    });
    const second = await clientAt(1).responses.create({
      model: 'scripted',
      previous_response_id: first.id,
      input: 'And I live in Bergen.',
    });
    const third = await clientAt(0).responses.create({
      model: 'scripted',
      previous_response_id: second.id,
      input: 'Who am I?',
      stream: true,
    });
    const { final } = await readAll(third);
    expect(final.previous_response_id).toBe(second.id);
    expect(lastMessages()).toEqual([
      { role: 'user', content: 'My name is Ada.' },
      { role: 'assistant', content: first.output_text },
      { role: 'user', content: 'And I live in Bergen.' },
      { role: 'assistant', content: second.output_text },
      { role: 'user', content: 'Who am I?' },
    ]);
  });

  it('answers a tool call that an earlier response made', async () => {
    const tools: OpenAI.Responses.FunctionTool[] = [
      {
        type: 'function',
        name: 'get_weather',
        parameters: { type: 'object', properties: {} },
        strict: false,
      },
    ];
    const first = await clientAt(0).responses.create({
      model: 'simulator',
      input: 'Call get_weather.',
      tools,
    });
    const call = first.output.find((item) => item.type === 'function_call');
    if (call === undefined) throw new Error('no call was made');
    const second = await clientAt(1).responses.create({
      model: 'simulator',
      previous_response_id: first.id,
      tools,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }],
    });
    expect(second.output_text).toContain('rain');
  });

  it('is spared by references to single items', async () => {
    const first = await clientAt(0).responses.create({ model: 'scripted', input: 'Remember the sea.' });
    const [asked] = (await clientAt(0).responses.inputItems.list(first.id)).data;
    const [answered] = first.output;
    await clientAt(1).responses.create({
      model: 'scripted',
      input: [
        { type: 'item_reference', id: asked?.id ?? '' },
        { type: 'item_reference', id: answered?.id ?? '' },
        { role: 'user', content: 'What was it?' },
      ],
    });
    expect(lastMessages()).toEqual([
      { role: 'user', content: 'Remember the sea.' },
      { role: 'assistant', content: first.output_text },
      { role: 'user', content: 'What was it?' },
    ]);
  });
});
