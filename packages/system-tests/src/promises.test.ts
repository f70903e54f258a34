import { checkEventGrammar } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { deliverySite } from './delivery-site.ts';
import { readFrames } from './wire.ts';

const site = deliverySite({ apis: 1, workers: 1 });

const parameters = {
  type: 'object',
  properties: { place: { type: 'string', pattern: '^[A-Z][a-z]+(?: [A-Z][a-z]+)*$' } },
  required: ['place'],
  additionalProperties: false,
};
const weather = { type: 'function', name: 'get_weather', strict: true, parameters };
const format = { type: 'json_schema', name: 'place', strict: true, schema: parameters };

/** Requests that promise something, and what the simulator is told to break of it. `broken-promise.test.ts` has the others. */
const promises: [name: string, broken: string, body: object, param: string][] = [
  ['arguments that satisfy', 'schema', { tools: [weather], tool_choice: 'required' }, 'tools'],
  ['an output in JSON', 'json', { text: { format } }, 'text.format'],
];

interface Answer {
  status: string;
  error: { code: string; type: string; param: string; message: string } | null;
}

const prompt = (directives: string) => `Say it. [[sluice: ${directives}]]`;

async function create(directives: string, body: object) {
  const answer = await site.create(0, { model: 'simulator', input: prompt(directives), ...body });
  return { ...answer, json: JSON.parse(answer.text) as Answer };
}

async function streamed(directives: string, body: object): Promise<Answer> {
  const stream = await site.stream(0, { model: 'simulator', input: prompt(directives), ...body });
  const { frames } = await readFrames(stream);
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
    expect([status, headers['x-should-retry']]).toEqual([500, 'false']);
    expect(json.error).toMatchObject({ type: 'model_error', code: 'invalid_model_output', param });
  });

  it('that was broken before the eyes of a reader fails at once', async () => {
    const response = await streamed(`break=${broken} break_attempts=1`, body);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'invalid_model_output', param } });
  });
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
