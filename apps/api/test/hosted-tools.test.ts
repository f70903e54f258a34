import { describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

const api = eachTestApi();

/** The model whose upstream runs `web_search` and `mcp`. */
const searching = 'other';
const search = { type: 'web_search' };
const own = { type: 'function', name: 'f' };
const codex = { client_metadata: { 'x-codex-installation-id': 'x' } };

/** Past this a body is read in a thread. */
const long = 'x'.repeat(100_000);

describe.each([
  ['a short body', 'Hi'],
  ['a long one', long],
])('a tool that is not run here, in %s', (_what, input) => {
  it('is refused, and nothing is created', async () => {
    const answer = await api.create({ model, input, tools: [own, search] });
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'unsupported_tool', param: 'tools[1].type' },
    });
    expect(api.worker.runs).toEqual([]);
    const count = { model, input, tools: [search] };
    expect((await api.create(count, { path: '/responses/input_tokens' })).status).toBe(400);
  });

  it('is passed on where the upstream of the model runs it', async () => {
    const { status } = await api.create({ model: searching, input, tools: [own, search] });
    expect(status).toBe(200);
    expect(api.worker.runs[0]?.record.request).toMatchObject({
      tools: [own],
      hosted_tools: [search],
    });
  });

  it('is left out for Codex, which sends some that nobody asked for', async () => {
    const answer = await api.create({ model, input, tools: [own, search, { type: 'namespace' }], ...codex });
    expect(answer.status).toBe(200);
    expect(answer.json()['tools']).toMatchObject([own]);
    expect(api.worker.runs[0]?.record.request).not.toHaveProperty('hosted_tools');
  });
});

it('over a WebSocket it is refused and passed on alike', async () => {
  const client = await api.connect();
  const last = async (fields: object) =>
    (await client.turn({ input: 'Hi', tools: [search], ...fields })).at(-1);
  expect(await last({ model })).toMatchObject({
    type: 'error',
    status: 400,
    error: { code: 'unsupported_tool', param: 'tools[0].type' },
  });
  expect(await last({ model, ...codex })).toMatchObject({ type: 'response.completed' });
  expect(await last({ model: searching })).toMatchObject({ type: 'response.completed' });
  const requests = api.worker.runs.map(({ record }) => record.request.hosted_tools);
  expect(requests).toEqual([undefined, [search]]);
  await client.close();
});
