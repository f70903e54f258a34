import type { ErrorCode } from '@sluice/contract';
import { checkEventGrammar, checkResponse, readSse } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../src/route.ts';
import { healthRoutes, routes } from '../src/routes.ts';
import { oneTestApi } from './kept-api.ts';
import { apiKeys, model } from './test-api.ts';

const api = oneTestApi();
/** A response that has ended. */
let id: string;

beforeAll(async () => {
  id = String((await api.create({ model, input: 'Hi' })).json()['id']);
});

type Method = Route<never>['method'];

function routeOf(method: Method, path: string) {
  const route = [...routes, ...healthRoutes].find((each) => each.method === method && each.path === path);
  if (!route) throw new Error(`no route ${method} ${path}`);
  return route;
}

async function ask(method: Method, url: string, body?: object) {
  const response = await api.app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${apiKeys.first}` },
    ...(body && { payload: body }),
  });
  return { status: response.statusCode, body: response.json<Record<string, unknown>>() };
}

describe.each(['/v1', '/api/v1'])('what %s answers', (mount) => {
  it.each<[Method, string, (id: string) => string, object?]>([
    ['POST', '/responses', () => '/responses', { model, input: 'Hi', metadata: { a: 'b' } }],
    ['GET', '/responses', () => '/responses?limit=2'],
    ['GET', '/responses/:id', (found) => `/responses/${found}`],
    ['POST', '/responses/:id/cancel', (found) => `/responses/${found}/cancel`],
    ['GET', '/responses/:id/input_items', (found) => `/responses/${found}/input_items`],
    ['GET', '/models', () => '/models'],
    ['GET', '/models/*', () => '/models/vendor/model'],
  ])('to %s %s is what the route describes', async (method, path, url, body) => {
    const answer = await ask(method, mount + url(id), body);
    const described = routeOf(method, path).answers.find(
      ({ content }) => content?.mediaType === 'application/json',
    );
    expect(answer.status).toBe(described?.status);
    // Equal, so no member is missing from the schema.
    expect(described?.content?.schema.parse(answer.body)).toEqual(answer.body);
    if (String(answer.body['object']).endsWith('response')) expect(checkResponse(answer.body)).toEqual([]);
  });

  it('to a stream is events as the route describes them', async () => {
    const { schema } = routeOf('POST', '/responses').answers[1]?.content ?? {};
    const answer = await api.stream({ model, input: 'Hi' }, { mount });
    const { events } = await readSse(await answer.text());
    expect(checkEventGrammar(events)).toEqual([]);
    for (const event of events) expect(schema?.parse(event)).toEqual(event);
  });

  it('to a removal is what the route describes', async () => {
    const own = String((await api.create({ model, input: 'Hi' })).json()['id']);
    const { body } = await ask('DELETE', `${mount}/responses/${own}`);
    expect(routeOf('DELETE', '/responses/:id').answers[0]?.content?.schema.parse(body)).toEqual(body);
  });

  // That their routes name these codes is held by `describedAnswers`, as of every answer of an api of a test.
  it.each<[string, ErrorCode, object?]>([
    ['POST /responses', 'missing_required_parameter', {}],
    ['POST /responses', 'model_not_found', { model: 'nope', input: 'Hi' }],
    ['GET /responses?limit=0', 'integer_below_min_value'],
    ['GET /responses?after=x', 'invalid_value'],
    ['GET /responses/ID?stream=yes', 'invalid_value'],
    ['GET /responses/x', 'not_found'],
    ['GET /responses/ID/events?offset=1', 'invalid_value'],
    ['GET /responses/ID/events?offset=', 'invalid_value'],
    ['GET /responses/ID/events?offset=9999999999999999', 'invalid_value'],
    ['GET /responses/ID/events?offset=-1&offset=-1', 'invalid_value'],
    ['GET /responses/ID/events?offset=-1&live=yes', 'invalid_value'],
    ['GET /responses/ID/events?offset=-1&live=sse&cursor=x', 'invalid_value'],
    ['GET /responses/ID/events?live=sse', 'missing_required_parameter'],
    ['GET /responses/x/events', 'not_found'],
    ['POST /responses/x/cancel', 'not_found'],
    ['DELETE /responses/x', 'not_found'],
    ['GET /responses/ID/input_items?after=x', 'invalid_value'],
    ['GET /responses/ID/input_items?limit=x', 'invalid_type'],
    ['GET /responses/ID/input_items?limit=101', 'integer_above_max_value'],
    ['GET /models/x', 'not_found'],
  ])('to %s is the error %s', async (asked, code, body) => {
    const [method, path] = asked.replace('ID', id).split(' ') as [Method, string]; // as the rows are
    expect((await ask(method, mount + path, body)).body).toMatchObject({ error: { code } });
  });
});

it('a list does not go on after a response that is gone: a pager would take what it gets for the end', async () => {
  const gone = String((await api.create({ model, input: 'Hi' })).json()['id']);
  await ask('DELETE', `/v1/responses/${gone}`);
  const { body } = await ask('GET', `/v1/responses?after=${gone}`);
  expect(body).toMatchObject({ error: { code: 'invalid_value', param: 'after' } });
});

it.each(['/healthz', '/readyz'])('%s answers what the route describes', async (path) => {
  const { body } = await ask('GET', path);
  expect(routeOf('GET', path).answers[0]?.content?.schema.parse(body)).toEqual(body);
});

const withUpgrade = (url: string, upgrade: string) =>
  api.app.inject({
    url,
    headers: { authorization: `Bearer ${apiKeys.first}`, upgrade, connection: 'upgrade' },
  });

it.each(['/v1/responses?limit=0', '/api/v1/responses', '/v1/models', '/v1/responses/none'])(
  'a request for a WebSocket at %s is told to use HTTP, whatever else it says',
  async (url) => {
    for (const upgrade of ['websocket', 'h2c, WebSocket']) {
      const answer = await withUpgrade(url, upgrade);
      expect(answer.statusCode).toBe(426);
      expect(answer.json()).toMatchObject({ error: { code: 'upgrade_required', param: null } });
    }
  },
);

it('a client that offers another protocol besides gets its answer', async () => {
  expect((await withUpgrade('/v1/responses', 'h2c')).statusCode).toBe(200);
});
