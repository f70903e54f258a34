import { eventually } from '@sluice/testing';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type {
  Response,
  ResponseCompletedEvent,
  ResponseInputItem,
  ResponsesClientEvent,
  Tool,
} from 'openai/resources/responses/responses';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { clientSite, mounts, oneRequestKeys, onlyPrompt } from '../src/client-site.ts';
import { remark } from './remark.ts';

const site = clientSite();

const weather: Tool = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather of a place.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
};

/** Takes one turn over a socket and returns the response at its end. */
function turnOf(
  socket: ResponsesWS,
  body: Omit<ResponsesClientEvent.ResponseCreate, 'type'>,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const onEnd = (event: ResponseCompletedEvent) => settle(() => resolve(event.response));
    const settle = (then: () => void) => {
      socket.off('response.completed', onEnd);
      socket.off('error', onError);
      then();
    };
    const onError = (error: Error) => settle(() => reject(error));
    socket.on('response.completed', onEnd);
    socket.on('error', onError);
    socket.send({ type: 'response.create', ...body });
  });
}

const slowly = '[[sluice: tokens=40 tokens_per_second=200]]';

describe.each(mounts)('openai at $mount', ({ mount, object }) => {
  const clientWith = (apiKey: string, maxRetries = 0) =>
    new OpenAI({ baseURL: site.baseUrl(mount), apiKey, maxRetries });
  const client = () => clientWith(site.key);
  const responses = () => client().responses;

  const refused = async (call: Promise<unknown>) => {
    const error: unknown = await call.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OpenAI.APIError);
    return error as InstanceType<typeof OpenAI.APIError>; // the line before
  };

  it('`create`', async () => {
    const response = await responses().create({ model: 'scripted', input: 'Tell me of Bergen.' });
    expect(response).toMatchObject({ object, status: 'completed', error: null, model: 'scripted' });
    expect(response.id).toMatch(/^create-response_/);
    expect(response.output_text).toBe('Bergen lies between seven mountains.');
    expect(response.usage).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
    expect(response._request_id).toMatch(/^req_/);
  });

  it('`create` with `stream: true`', async () => {
    const stream = await responses().create({ model: 'scripted', input: 'Tell me of Bergen.', stream: true });
    const types = new Set<string>();
    let text = '';
    for await (const event of stream) {
      types.add(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.completed') expect(event.response.object).toBe(object);
    }
    expect(text).toBe('Bergen lies between seven mountains.');
    expect([...types]).toEqual([
      'response.created',
      'response.queued',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('`stream` with its events and `finalResponse`', async () => {
    const stream = responses().stream({ model: 'scripted', input: 'Tell me of Bergen.' });
    const snapshots: string[] = [];
    stream.on('response.output_text.delta', ({ snapshot }) => void snapshots.push(snapshot));
    const final = await stream.finalResponse();
    expect(final).toMatchObject({ status: 'completed', output_text: snapshots.at(-1) });
    expect(snapshots.length).toBeGreaterThan(1);
  });

  it('`parse` with a zod schema', async () => {
    const Person = z.object({ name: z.string(), age: z.number() });
    for (const model of ['scripted', 'simulator']) {
      const response = await responses().parse({
        model,
        input: 'Describe a person.',
        text: { format: zodTextFormat(Person, 'person') },
      });
      expect(Person.parse(response.output_parsed)).toEqual(response.output_parsed);
    }
  });

  it('`stream` with a zod schema', async () => {
    const stream = responses().stream({
      model: 'scripted',
      input: 'Describe a person.',
      text: { format: zodTextFormat(z.object({ name: z.string(), age: z.number() }), 'person') },
    });
    expect((await stream.finalResponse()).output_parsed).toEqual({ name: 'Ada', age: 36 });
  });

  it.each(['scripted', 'scripted-chat', 'simulator'])('tools, there and back, with %s', async (model) => {
    const input: ResponseInputItem[] = [
      { role: 'user', content: 'Call get_weather: the weather in Bergen.' },
    ];
    const first = await responses().create({ model, input, tools: [weather] });
    const call = first.output.find((item) => item.type === 'function_call') ?? expect.unreachable();
    expect(JSON.parse(call.arguments)).toHaveProperty('place');
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'rain' } as const;
    const second = await responses().create({ model, input: [...input, call, output], tools: [weather] });
    expect(second.output_text).toContain('rain');
  });

  it('parallel tool calls in a stream', async () => {
    const stream = responses().stream({
      model: 'scripted',
      input: 'Ask for the weather in both.',
      tools: [weather],
    });
    const seen: string[] = [];
    stream.on('response.function_call_arguments.done', (event) => void seen.push(event.arguments));
    const final = await stream.finalResponse();
    expect(seen).toEqual(['{"place":"Bergen"}', '{"place":"Oslo"}']);
    expect(final.output.map(({ type }) => type)).toEqual(['function_call', 'function_call']);
  });

  it('reasoning summaries', async () => {
    const stream = responses().stream({
      model: 'scripted',
      input: 'Think.',
      reasoning: { effort: 'low', summary: 'auto' },
    });
    let summary = '';
    stream.on('response.reasoning_summary_text.delta', ({ delta }) => {
      summary += delta;
    });
    const final = await stream.finalResponse();
    expect(summary).toBe('The question is known.');
    expect(final.output_text).toBe('Forty-two.');
    expect(final.output[0]).toMatchObject({ type: 'reasoning', summary: [{ text: summary }] });
    // And the items come back as input.
    const next = await responses().create({
      model: 'scripted',
      store: false,
      input: [
        { role: 'user', content: 'Think.' },
        ...(final.output as ResponseInputItem[]), // a reasoning item and a message
        { role: 'user', content: 'Repeat what was said.' },
      ],
    });
    expect(next.output_text).toBe('user: Think. | assistant: Forty-two. | user: Repeat what was said.');
  });

  it('raw reasoning', async () => {
    const stream = responses().stream({ model: 'scripted-chat', input: 'Think.' });
    let reasoning = '';
    stream.on('response.reasoning_text.delta', ({ delta }) => {
      reasoning += delta;
    });
    const final = await stream.finalResponse();
    expect(reasoning).toBe('The question is known.');
    expect(final.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: reasoning }] },
      { type: 'message' },
    ]);
  });

  it('an image and a file as data URLs', async () => {
    const note = Buffer.from('a note').toString('base64');
    const response = await responses().create({
      model: 'scripted',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Repeat what was said.' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
            { type: 'input_file', filename: 'note.txt', file_data: `data:text/plain;base64,${note}` },
          ],
        },
      ],
    });
    expect(response.output_text).toBe('user: Repeat what was said.');
  });

  it('a refusal of the model', async () => {
    const stream = responses().stream({ model: 'simulator', input: 'Do it. [[sluice: refuse]]' });
    let refusal = '';
    stream.on('response.refusal.delta', ({ delta }) => {
      refusal += delta;
    });
    const { output } = await stream.finalResponse();
    expect(output).toMatchObject([{ type: 'message', content: [{ type: 'refusal', refusal }] }]);
  });

  it('an answer that was cut short', async () => {
    const stream = responses().stream({
      model: 'simulator',
      input: 'Go on. [[sluice: tokens=100]]',
      max_output_tokens: 16,
    });
    expect(await stream.finalResponse()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
  });

  it('a custom tool', async () => {
    const tools: Tool[] = [{ type: 'custom', name: 'get_weather', description: 'Tells the weather.' }];
    const input = 'Call get_weather: what is the weather?';
    const stream = responses().stream({ model: 'simulator', input, tools });
    let streamed = '';
    stream.on('response.custom_tool_call_input.delta', ({ delta }) => {
      streamed += delta;
    });
    const final = await stream.finalResponse();
    const call = final.output.find(({ type }) => type === 'custom_tool_call');
    if (call?.type !== 'custom_tool_call') return expect.unreachable();
    expect(call).toMatchObject({ id: expect.stringMatching(/^ctc_/), name: 'get_weather', input: streamed });
    const second = await responses().create({
      model: 'simulator',
      previous_response_id: final.id,
      input: [{ type: 'custom_tool_call_output', call_id: call.call_id, output: 'rain' }],
      tools,
    });
    expect(second.output_text).toContain('rain');
  });

  it('encrypted reasoning with `store: false`', async () => {
    const include: ['reasoning.encrypted_content'] = ['reasoning.encrypted_content'];
    const asked = { role: 'user', content: 'Think.' } as const;
    const stream = responses().stream({ model: 'scripted', input: [asked], store: false, include });
    const { output } = await stream.finalResponse();
    expect(output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) });
    const next = await responses().create({
      model: 'scripted',
      store: false,
      include,
      // A reasoning item and a message, as they came.
      input: [asked, ...(output as ResponseInputItem[]), { role: 'user', content: 'Repeat what was said.' }],
    });
    expect(next.output_text).toBe('user: Think. | assistant: Forty-two. | user: Repeat what was said.');
    const other = responses().create({
      model: 'scripted',
      input: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'of somebody else' }],
    });
    expect(await refused(other)).toMatchObject({ status: 400, code: 'invalid_encrypted_content' });
  });

  it('`include` with log probabilities', async () => {
    const response = await responses().create({
      model: 'scripted',
      input: 'Tell me of Bergen.',
      include: ['message.output_text.logprobs'],
      top_logprobs: 1,
    });
    const [message] = response.output;
    const part = message?.type === 'message' ? message.content[0] : undefined;
    if (part?.type !== 'output_text') return expect.unreachable();
    expect(part.logprobs?.[0]).toMatchObject({ token: 'Bergen ', logprob: -0.25, top_logprobs: [{}] });
    expect(part.logprobs?.map(({ token }) => token).join('')).toBe(part.text);
  });

  it('`metadata`', async () => {
    const metadata = { customer: '17', purpose: 'a test' };
    const { id } = await responses().create({ model: 'simulator', input: 'Hello.', metadata });
    expect((await responses().retrieve(id)).metadata).toEqual(metadata);
  });

  it('`retrieve`', async () => {
    const created = await responses().create({ model: 'scripted', input: 'Tell me of Bergen.' });
    const { output_text, object: kind, output, status } = created;
    expect(await responses().retrieve(created.id)).toMatchObject({
      output_text,
      object: kind,
      output,
      status,
    });
  });

  it('`retrieve` with `stream` and `starting_after`', async () => {
    const { id } = await responses().create({
      model: 'simulator',
      input: `Count. ${slowly}`,
      background: true,
    });
    const all = [];
    for await (const event of await responses().retrieve(id, { stream: true })) all.push(event);
    const rest = [];
    for await (const event of await responses().retrieve(id, { stream: true, starting_after: 3 }))
      rest.push(event);
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual([...all.keys()]);
    expect(rest).toEqual(all.slice(4));
  });

  it('`stream` of a response by its id, with `starting_after`', async () => {
    const { id } = await responses().create({
      model: 'simulator',
      input: `Count. ${slowly}`,
      background: true,
    });
    const stream = responses().stream({ response_id: id, starting_after: 4 });
    const numbers: number[] = [];
    stream.on('event', ({ sequence_number }) => void numbers.push(sequence_number));
    expect(await stream.finalResponse()).toMatchObject({ id, status: 'completed' });
    expect(numbers[0]).toBe(5);
  });

  it('`background` and polling', async () => {
    const created = await responses().create({
      model: 'simulator',
      input: `Take your time. ${slowly}`,
      background: true,
    });
    expect(created).toMatchObject({ status: 'queued', output: [], output_text: '', usage: null });
    const done = await eventually(async () => {
      const polled = await responses().retrieve(created.id);
      return polled.status === 'queued' || polled.status === 'in_progress' ? undefined : polled;
    });
    expect(done.status).toBe('completed');
    expect(done.output_text).not.toBe('');
  });

  it('`background` with `stream: true`, resumed elsewhere', async () => {
    const stream = await responses().create({
      model: 'simulator',
      input: `Count. ${slowly}`,
      background: true,
      stream: true,
    });
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (events.length === 8) break; // which leaves
    }
    const [first] = events;
    const id = first?.type === 'response.created' ? first.response.id : expect.unreachable();
    for await (const event of await responses().retrieve(id, { stream: true, starting_after: 7 }))
      events.push(event);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    expect(events.at(-1)?.type).toBe('response.completed');
  });

  it('`cancel`', async () => {
    const prompt = onlyPrompt('Stall');
    const { id } = await responses().create({ model: 'scripted', input: prompt, background: true });
    const request = await eventually(() => site.model.requestsFor(prompt)[0]);
    const cancelled = await responses().cancel(id);
    expect(cancelled).toMatchObject({ id, object, status: 'cancelled' });
    expect(await request.ended).toBe('aborted');
  });

  it('a stream that is aborted cancels its response', async () => {
    const prompt = onlyPrompt('Stall');
    const stream = await responses().create({ model: 'scripted', input: prompt, stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.output_text.delta') stream.controller.abort();
    }
    expect(await site.model.requestsFor(prompt)[0]?.ended).toBe('aborted');
    await eventually(async () => (await responses().retrieve(id)).status === 'cancelled');
  });

  it('`delete`', async () => {
    const { id } = await responses().create({ model: 'simulator', input: 'Forget this.' });
    await responses().delete(id);
    expect(await refused(responses().retrieve(id))).toBeInstanceOf(OpenAI.NotFoundError);
  });

  it('`inputItems.list` with its pages', async () => {
    const texts = ['One.', 'Two.', 'Three.', 'Four.', 'Five.'];
    const { id } = await responses().create({
      model: 'simulator',
      input: texts.map((content) => ({ role: 'user', content })),
    });
    const listed: unknown[] = [];
    for await (const item of responses().inputItems.list(id, { limit: 2, order: 'asc' })) listed.push(item);
    expect(listed).toMatchObject(texts.map((text) => ({ content: [{ type: 'input_text', text }] })));
    const latest = await responses().inputItems.list(id, { limit: 1 });
    expect(latest.data).toMatchObject([{ content: [{ text: 'Five.' }] }]);
  });

  it('`previous_response_id`', async () => {
    const first = await responses().create({ model: 'scripted', input: 'My name is Ada.' });
    const second = await responses().create({
      model: 'scripted',
      previous_response_id: first.id,
      input: 'Repeat what was said.',
    });
    expect(second.output_text).toBe(
      `user: My name is Ada. | assistant: ${first.output_text} | user: Repeat what was said.`,
    );
  });

  it('`store: false`', async () => {
    const response = await responses().create({ model: 'simulator', input: 'Hello.', store: false });
    expect(response).toMatchObject({ status: 'completed', store: false });
    expect(await refused(responses().retrieve(response.id))).toMatchObject({ status: 404 });
    const next = responses().create({
      model: 'simulator',
      input: 'More.',
      previous_response_id: response.id,
    });
    expect(await refused(next)).toMatchObject({ status: 400, code: 'previous_response_not_found' });
  });

  it('its own option `idempotencyKey`', async (context) => {
    const body = { model: 'simulator', input: 'Only once.' };
    const keyed = { idempotencyKey: onlyPrompt('key').replaceAll(/[ ()]/g, '') };
    const first = await responses().create(body, keyed);
    expect((await responses().create(body, keyed)).id).not.toBe(first.id);
    remark(context, 'It sends no header for it. Pass `Idempotency-Key` in `headers`.');
  });

  it('an idempotency key', async () => {
    const headers = { 'Idempotency-Key': onlyPrompt('key').replaceAll(/[ ()]/g, '') };
    const body = { model: 'simulator', input: 'Only once.' };
    const first = await responses().create(body, { headers });
    const { data, response } = await responses().create(body, { headers }).withResponse();
    expect(data.id).toBe(first.id);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    const other = responses().create({ ...body, input: 'Something else.' }, { headers });
    expect(await refused(other)).toMatchObject({ status: 422, code: 'idempotency_mismatch' });
  });

  it('`models.list` and `models.retrieve`', async () => {
    const ids = [];
    for await (const { id } of client().models.list()) ids.push(id);
    expect(ids).toEqual(expect.arrayContaining(['simulator', 'scripted']));
    expect(await client().models.retrieve('scripted')).toMatchObject({ id: 'scripted', object: 'model' });
  });

  it('401 as an `AuthenticationError`', async () => {
    const call = clientWith('sk-unknown-0123456789').responses.create({
      model: 'simulator',
      input: 'Hello.',
    });
    const error = await refused(call);
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(error.requestID).toMatch(/^req_/);
  });

  it('400 as a `BadRequestError` with code, param and request id', async () => {
    const error = await refused(responses().create({ model: 'simulator', input: 'Hello.', temperature: 3 }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({
      status: 400,
      code: 'decimal_above_max_value',
      param: 'temperature',
      type: 'invalid_request_error',
    });
    expect(error.requestID).toMatch(/^req_/);
    const streamed = responses().create({ model: 'nobody', input: 'Hello.', stream: true });
    expect(await refused(streamed)).toMatchObject({ status: 400, param: 'model', code: 'model_not_found' });
  });

  it('404 as a `NotFoundError`', async () => {
    const error = await refused(responses().retrieve('create-response_0000000000000000000000000'));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('429 as a `RateLimitError` with its headers', async () => {
    const slow = clientWith(oneRequestKeys[mount]);
    await slow.responses.create({ model: 'simulator', input: 'The only one.' });
    const error = await refused(slow.responses.create({ model: 'simulator', input: 'One too many.' }));
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(error.headers?.get('x-ratelimit-limit-requests')).toBe('1');
    expect(error.headers?.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(error.headers?.get('x-ratelimit-reset-requests')).toMatch(/^(\d+h)?(\d+m)?([\d.]+m?s)?$/);
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(error.headers?.get('retry-after-ms'))).toBeGreaterThan(0);
  });

  it('a refusal of the upstream', async () => {
    const error = await refused(responses().create({ model: 'scripted', input: 'Refuse.' }));
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error.code).toBe('invalid_prompt');
    expect(error.message).not.toContain('as the script says');
  });

  it('a 429 of the upstream, which is waited out', async () => {
    const prompt = onlyPrompt('Tell me of Bergen.');
    site.model.limitOnce();
    const response = await responses().create({ model: 'limited', input: prompt });
    expect(response.status).toBe('completed');
    expect(site.model.requestsFor(prompt)).toHaveLength(2);
  });

  it('a stream that fails on the way', async () => {
    const reading = async () => {
      const stream = await responses().create({ model: 'scripted', input: 'Break.', stream: true });
      for await (const event of stream) expect(event.type).not.toBe('response.completed');
    };
    const error = await refused(reading());
    expect(error.code).toBe('upstream_error');
    const helper = responses().stream({ model: 'scripted', input: 'Break.' });
    expect(await refused(helper.finalResponse())).toMatchObject({ code: 'upstream_error' });
  });

  it('`ResponsesWS`', async () => {
    const prompt = 'Tell me of Bergen.';
    const socket = new ResponsesWS(client());
    try {
      const first = await turnOf(socket, { model: 'scripted', input: prompt, store: false });
      expect(first).toMatchObject({ object, output_text: 'Bergen lies between seven mountains.' });
      const second = await turnOf(socket, {
        model: 'scripted',
        store: false,
        previous_response_id: first.id,
        input: 'Repeat what was said.',
      });
      expect(second.output_text).toContain(`user: ${prompt} | assistant: ${first.output_text} |`);
    } finally {
      socket.close();
    }
  });

  it('`ResponsesWS` with a tool call, there and back', async () => {
    const socket = new ResponsesWS(client());
    try {
      const first = await turnOf(socket, {
        model: 'scripted',
        input: 'What is the weather?',
        tools: [weather],
      });
      const call = first.output.find((item) => item.type === 'function_call') ?? expect.unreachable();
      const second = await turnOf(socket, {
        model: 'scripted',
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }],
        tools: [weather],
      });
      expect(second.output_text).toBe('The tools say: rain.');
    } finally {
      socket.close();
    }
  });

  it('errors of `ResponsesWS`, after which it goes on', async () => {
    const socket = new ResponsesWS(client());
    try {
      await expect(turnOf(socket, { model: 'nobody', input: 'Hello.' })).rejects.toMatchObject({
        error: { error: { code: 'model_not_found', param: 'model' } },
      });
      expect(await turnOf(socket, { model: 'simulator', input: 'Hello.' })).toMatchObject({ object });
    } finally {
      socket.close();
    }
    const refusedSocket = new ResponsesWS(clientWith('sk-unknown-0123456789'));
    const error = new Promise((resolve) => {
      refusedSocket.on('error', resolve);
    });
    expect(String(await error)).toContain('401');
  });

  it('`inputTokens.count`', async () => {
    const counted = await responses().inputTokens.count({ model: 'simulator', input: 'Count these words.' });
    expect(counted.object).toBe('response.input_tokens');
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  it('`compact`', async () => {
    const input = [{ role: 'user' as const, content: 'My name is Ada.' }];
    const compacted = await responses().compact({ model: 'simulator', input });
    expect(compacted.object).toBe('response.compaction');
    expect(compacted.output.at(-1)?.type).toBe('compaction');
    const next = await responses().create({
      model: 'simulator',
      // A window is accepted as it was given.
      input: [...(compacted.output as ResponseInputItem[]), { role: 'user', content: 'Who am I?' }],
    });
    expect(next.status).toBe('completed');
  });
});
