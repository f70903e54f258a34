import { responseRowsSchema } from '@sluice/contract/admin';
import { eventually } from '@sluice/testing';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eachTestApi } from './kept-api.ts';
import { adminAppOf } from './test-admin.ts';
import { apiKeys, model } from './test-api.ts';

const api = eachTestApi({ isKept: false });
let admin: FastifyInstance;
beforeEach(async () => {
  admin = await adminAppOf(api);
});
afterEach(() => admin.close());

async function rowsOf(requestId: string) {
  const url = `/admin/v1/responses?request_id=${requestId}`;
  const { body } = await admin.inject({ url, headers: { host: 'localhost' } });
  return responseRowsSchema.parse(JSON.parse(body)).data;
}

const linesOf = (requestId: string) =>
  api.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ reqId, msg }) => reqId === requestId && msg === 'refused');

const idHeader = 'x-sluice-response-id';

describe('an error that a caller reports', () => {
  it('leads to its response: by the id in its headers, and by that of its request', async () => {
    api.worker.onRun((run) => run.fail('model_error'));
    const { status, headers } = await api.create({ model, input: 'Hi' });
    await api.create({ model, input: 'Another one.' });
    expect(status).toBe(500);
    const id = api.worker.runs[0]?.record.id;
    expect(headers[idHeader]).toBe(id);
    const requestId = headers['x-request-id'] ?? '';
    const found = await eventually(async () => {
      const rows = await rowsOf(requestId);
      return rows[0]?.status === 'failed' && rows;
    });
    expect(found).toMatchObject([{ id, error_code: 'model_error' }]);
    expect(await rowsOf(requestId.slice(0, 12))).toHaveLength(1);
    expect(await rowsOf('req_nobody')).toEqual([]);
  });

  it('leads to a line of the log if it was refused, as no response was created', async () => {
    const requestOf = async (body: object, key = apiKeys.first) => {
      const { headers } = await api.create(body, { key });
      expect(headers).not.toHaveProperty(idHeader);
      return headers['x-request-id'] ?? '';
    };
    const invalid = await requestOf({ model, input: 'Hi', temperature: 3 });
    const keyless = await requestOf({ model, input: 'Hi' }, 'sk-wrong');
    expect(linesOf(invalid)).toMatchObject([
      { tenant: 'first', status: 400, code: 'decimal_above_max_value', param: 'temperature' },
    ]);
    expect(linesOf(keyless)).toMatchObject([{ status: 401, code: 'invalid_api_key' }]);
    expect(await rowsOf(invalid)).toEqual([]);
  });
});

it('each answer about a response names it', async () => {
  const answers = [await api.create({ model, input: 'Hi' })];
  const id = String(answers[0]?.json()['id']);
  const path = `/v1/responses/${id}`;
  answers.push(
    await api.create({ model, input: 'Hi', background: true }, { headers: { 'idempotency-key': 'k' } }),
  );
  answers.push(
    await api.create({ model, input: 'Hi', background: true }, { headers: { 'idempotency-key': 'k' } }),
  );
  expect(answers[2]?.headers[idHeader]).toBe(answers[1]?.headers[idHeader]);
  expect(answers[1]?.headers[idHeader]).toBe(answers[1]?.json()['id']);
  const read = [await api.get(path), await api.get(`${path}/input_items`), await api.get(`${path}/events`)];
  const cancelled = await api.create('', { path: `/responses/${id}/cancel` });
  for (const { headers } of [...read, cancelled]) expect(headers[idHeader]).toBe(id);
  const stream = await api.stream({ model, input: 'Hi' });
  expect(await stream.text()).toContain(stream.headers.get(idHeader));
  expect((await api.get('/v1/responses/create-response_nobody')).headers).not.toHaveProperty(idHeader);
});
