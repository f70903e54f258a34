import { checkEventGrammar, eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { deliverySite, siteKeys } from './delivery-site.ts';
import { idIn, open, readFrames, send, wholeReplay } from './wire.ts';

const site = deliverySite();

const tool = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
};

/** Requests that lead to every kind of output and to every echoed member. */
const requests: Record<string, object> = {
  'plain text': { model: 'simulator', input: 'Say hello.' },
  'every member': {
    model: 'simulator',
    instructions: 'Be kind.',
    input: [{ role: 'user', content: 'Say hello again.' }],
    temperature: 0.5,
    top_p: 0.9,
    presence_penalty: 0.1,
    frequency_penalty: -0.1,
    max_output_tokens: 4_000,
    max_tool_calls: 3,
    metadata: { colour: 'blue' },
    parallel_tool_calls: false,
    reasoning: { effort: 'low', summary: 'auto' },
    safety_identifier: 'someone',
    prompt_cache_key: 'key',
    service_tier: 'flex',
    text: { verbosity: 'low' },
    tools: [tool],
    tool_choice: 'none',
    top_logprobs: 2,
    include: ['message.output_text.logprobs'],
    truncation: 'auto',
    user: 'someone',
  },
  'reasoning and text': { model: 'simulator-reasoning', input: 'Think first.' },
  'a tool call': { model: 'simulator', input: 'Call get_weather for Bergen.', tools: [tool] },
  'a call of a custom tool': {
    model: 'simulator',
    input: 'Use the shell: ls -l',
    tools: [{ type: 'custom', name: 'shell', format: { type: 'text' } }],
    tool_choice: { type: 'custom', name: 'shell' },
  },
  JSON: {
    model: 'simulator',
    input: 'Describe a place.',
    text: { format: { type: 'json_schema', name: 'place', strict: true, schema: tool.parameters } },
  },
  'a refusal': { model: 'simulator', input: 'Do it. [[sluice: refuse]]' },
  'an answer that is cut short': {
    model: 'simulator',
    input: 'Go on. [[sluice: tokens=100]]',
    max_output_tokens: 16,
  },
  'a filtered answer': { model: 'simulator', input: 'Go on. [[sluice: stop=content_filter]]' },
};

const paths = ['/v1/responses', '/api/v1/responses'];
const key = siteKeys.tester;

async function whole(at: number, path: string, body: object): Promise<unknown> {
  const answer = await send(site.api(at), { method: 'POST', path, key, body });
  expect(answer.status).toBe(200);
  return JSON.parse(answer.text);
}

async function streamed(at: number, path: string, body: object): Promise<unknown> {
  const answer = await open(site.api(at), { method: 'POST', path, key, body: { ...body, stream: true } });
  const { frames, isWhole } = await readFrames(answer);
  expect(isWhole).toBe(true);
  const events = frames.map(({ data }): unknown => JSON.parse(data));
  expect(checkEventGrammar(events)).toEqual([]);
  return (events.at(-1) as { response: unknown }).response; // the grammar checks that the last event has a response
}

async function inBackground(at: number, path: string, body: object): Promise<unknown> {
  const created = await whole(at, path, { ...body, background: true });
  const { id } = created as { id: string }; // a 200 from this route is a response
  return eventually(async () => {
    const { text } = await send(site.api(at + 1), { path: `${path}/${id}`, key });
    const response = JSON.parse(text) as { status: string };
    return ['queued', 'in_progress'].includes(response.status) ? undefined : response;
  });
}

/** A response without the members that must differ: ids, times, and the echoed mode. */
function comparable(response: unknown): unknown {
  const ids = new Map<string, string>();
  const text = JSON.stringify(response, (name, value: unknown) => {
    if (name === 'created_at' || name === 'completed_at') return typeof value;
    if (name === 'background') return undefined;
    if ((name === 'id' || name === 'call_id') && typeof value === 'string') {
      const known = ids.get(value) ?? `${value.slice(0, value.indexOf('_'))} ${ids.size}`;
      ids.set(value, known);
      return known;
    }
    return value;
  });
  return JSON.parse(text);
}

describe.each(Object.keys(requests))('%s', (name) => {
  it.each(paths)('is the same response whole, streamed and in the background at %s', async (path) => {
    const body = requests[name] ?? {};
    const expected = comparable(await whole(0, path, body));
    expect(comparable(await streamed(1, path, body))).toEqual(expected);
    expect(comparable(await inBackground(0, path, body))).toEqual(expected);
    expect(comparable(await streamed(1, path, { ...body, background: true }))).toEqual(expected);
  });
});

it('a failure is the same in every mode, and an error to whoever waited for the whole', async () => {
  const body = { model: 'simulator', input: 'Break. [[sluice: fail=model_error]]' };
  const answer = await send(site.api(0), { method: 'POST', path: '/v1/responses', key, body });
  expect(answer.status).toBe(500);
  const { error } = JSON.parse(answer.text) as { error: object };
  const viaStream = (await streamed(0, '/v1/responses', body)) as { status: string; error: object };
  const viaPolling = (await inBackground(1, '/v1/responses', body)) as { status: string; error: object };
  expect(comparable(viaPolling)).toEqual({ ...(comparable(viaStream) as object), error: viaPolling.error });
  for (const failed of [viaStream, viaPolling]) {
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_error', type: 'model_error' } });
  }
  expect(error).toMatchObject({ code: 'model_error', type: 'model_error' });
});

it('the events of a response that was not streamed are derived, and end in the same response', async () => {
  for (const body of Object.values(requests)) {
    const answer = await site.create(0, body);
    const { id } = JSON.parse(answer.text) as { id: string };
    const frames = await wholeReplay(site.replay(1, id));
    expect(checkEventGrammar(frames.map(({ data }): unknown => JSON.parse(data)))).toEqual([]);
    expect(frames.at(-1)?.data).toContain(answer.text);
    expect(await wholeReplay(site.replay(0, id, 3))).toEqual(frames.slice(4));
    expect(idIn(frames[0])).toBe(id);
  }
});
