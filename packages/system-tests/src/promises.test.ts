import { checkEventGrammar } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DeliverySite, startDeliverySite } from './delivery-site.ts';
import { readFrames } from './wire.ts';

let site: DeliverySite;

beforeAll(async () => {
  site = await startDeliverySite({ apis: 1, workers: 1 });
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
});

const parameters = {
  type: 'object',
  properties: { place: { type: 'string', pattern: '^[A-Z][a-z]+(?: [A-Z][a-z]+)*$' } },
  required: ['place'],
  additionalProperties: false,
};
const weather = { type: 'function', name: 'get_weather', strict: true, parameters };
const clock = { type: 'function', name: 'get_time' };
const format = { type: 'json_schema', name: 'place', strict: true, schema: parameters };

/** Requests that promise something, and what the simulator is told to break of it. */
const promises: [name: string, broken: string, body: object, param: string][] = [
  ['a call', 'tool_choice', { tools: [weather], tool_choice: 'required' }, 'tool_choice'],
  [
    'a named call',
    'tool_choice',
    { tools: [weather, clock], tool_choice: { type: 'function', name: 'get_time' } },
    'tool_choice',
  ],
  [
    'a call of a set',
    'tool_choice',
    {
      tools: [weather, clock],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_time' }],
      },
    },
    'tool_choice',
  ],
  ['arguments in JSON', 'json', { tools: [weather], tool_choice: 'required' }, 'tools'],
  ['arguments that satisfy', 'schema', { tools: [weather], tool_choice: 'required' }, 'tools'],
  ['an output in JSON', 'json', { text: { format } }, 'text.format'],
  ['an output that satisfies', 'schema', { text: { format } }, 'text.format'],
];

interface Answer {
  status: string;
  output: { type: string; name?: string; status: string }[];
  error: { code: string; type: string; param: string; message: string } | null;
}

async function create(
  directives: string,
  body: object,
): Promise<{ status: number; headers: Headers; json: Answer & { error: Answer['error'] } }> {
  const input = `Say it. [[sluice: ${directives}]]`;
  const { status, headers, text } = await site.create(0, { model: 'simulator', input, ...body });
  return {
    status,
    headers: new Headers(headers as Record<string, string>),
    json: JSON.parse(text) as Answer,
  };
}

async function streamed(directives: string, body: object): Promise<Answer> {
  const input = `Say it. [[sluice: ${directives}]]`;
  const { frames } = await readFrames(await site.stream(0, { model: 'simulator', input, ...body }));
  const events = frames.map(({ data }) => JSON.parse(data) as { response: Answer });
  expect(checkEventGrammar(events)).toEqual([]);
  const last = events.at(-1);
  if (!last) throw new Error('the stream had no events');
  return last.response;
}

describe.each(promises)('%s', (_, broken, body, param) => {
  it('that holds completes the response', async () => {
    expect((await create('tokens=5', body)).json).toMatchObject({ status: 'completed' });
    expect(await streamed('tokens=5', body)).toMatchObject({ status: 'completed' });
  });

  it('that was broken unseen is kept by another attempt', async () => {
    const { status, json } = await create(`break=${broken} break_attempts=1`, body);
    expect([status, json.status]).toEqual([200, 'completed']);
  });

  it('that stays broken is a failure which names it', async () => {
    const { status, headers, json } = await create(`break=${broken}`, body);
    expect([status, headers.get('x-should-retry')]).toEqual([500, 'false']);
    expect(json.error).toMatchObject({ type: 'model_error', code: 'invalid_model_output', param });
  });

  it('that was broken before the eyes of a reader fails at once', async () => {
    const response = await streamed(`break=${broken} break_attempts=1`, body);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'invalid_model_output', param } });
  });
});

describe('what is not allowed', () => {
  it.each<[string, object, string[]]>([
    ['a tool that is forbidden', { tools: [clock], tool_choice: 'none' }, []],
    [
      'a tool outside of the set',
      {
        tools: [clock, weather],
        tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'get_weather' }] },
      },
      [],
    ],
  ])('is suppressed: %s', async (_, body, names) => {
    const { status, json } = await create('break=tool_choice', body);
    expect(status).toBe(200);
    expect(json.output.map(({ name }) => name)).toEqual(names);
    expect((await streamed('break=tool_choice', body)).output).toEqual([]);
  });

  it('is suppressed: a second call without parallel ones', async () => {
    const body = { tools: [clock], tool_choice: 'required', parallel_tool_calls: false };
    expect((await create('break=parallel_calls', body)).json.output).toHaveLength(1);
    expect((await streamed('break=parallel_calls', body)).output).toHaveLength(1);
    const free = { ...body, parallel_tool_calls: true };
    expect((await streamed('break=parallel_calls', free)).output).toHaveLength(2);
  });
});

it('an output that is cut short is incomplete, and not a failure', async () => {
  const schema = { type: 'array', minItems: 30, items: { const: 'a long constant' } };
  const body = { text: { format: { ...format, schema } }, max_output_tokens: 16 };
  expect((await create('', body)).json).toMatchObject({ status: 'incomplete' });
  expect(await streamed('', body)).toMatchObject({ status: 'incomplete' });
});

it('a schema that is too costly to check fails its own response, and holds up no other', async () => {
  // Alternatives multiply with the depth of the value: the simulator gives `const` as it is.
  let value: unknown = 1;
  for (let level = 0; level < 24; level += 1) value = { a: value };
  const branch = (name: string) => ({ properties: { a: { $ref: '#/$defs/a' } }, required: [name] });
  const $defs = { a: { anyOf: [{ type: 'string' }, { anyOf: ['x', 'y', 'z'].map(branch) }] } };
  const costly = { const: value, anyOf: [{ $ref: '#/$defs/a' }, true], $defs };
  const hostile = { type: 'function', name: 'costly', strict: true, parameters: costly };
  const [failed, other] = await Promise.all([
    create('', { tools: [hostile], tool_choice: 'required' }),
    create('', { text: { format } }),
  ]);
  expect(other.json).toMatchObject({ status: 'completed' });
  expect(failed.json.error).toMatchObject({
    code: 'invalid_model_output',
    message: expect.stringMatching(
      /^What the model gave as the arguments of the strict function 'costly' could not/,
    ),
  });
});
