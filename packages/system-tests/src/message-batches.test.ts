import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';

const keys = { 'team-a': `sk-test-${'a'.repeat(32)}`, 'team-b': `sk-test-${'b'.repeat(32)}` } as const;

const service = testService(() => ({
  apis: 2,
  workers: 2,
  settings: {
    files: { enabled: true, batchLines: 20 },
    keys: Object.entries(keys).map(([name, key]) => ({ name, key })),
    providers: [{ id: 'simulator', type: 'simulator' }],
    models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
  },
}));

interface MessageBatch {
  id: string;
  processing_status: 'in_progress' | 'canceling' | 'ended';
  request_counts: Record<string, number>;
  results_url: string | null;
}

interface Asked {
  body?: unknown;
  method?: string;
  team?: keyof typeof keys;
  api?: number;
}

async function call(path: string, { body, team = 'team-a', api = 0, ...given }: Asked = {}) {
  const method = given.method ?? (body === undefined ? 'GET' : 'POST');
  const answer = await fetch(`${service.apiUrls[api]}/v1/messages/batches${path}`, {
    method,
    headers: { 'x-api-key': keys[team], 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
  return { status: answer.status, text: await answer.text() };
}

const jsonOf = ({ text }: { text: string }) => JSON.parse(text) as Record<string, unknown>;

const requestOf = (custom_id: string, content: string, more: object = {}) => ({
  custom_id,
  params: { model: 'simulator', max_tokens: 64, messages: [{ role: 'user', content }], ...more },
});

async function started(requests: readonly object[]): Promise<MessageBatch> {
  const answer = await call('', { body: { requests } });
  expect(answer).toMatchObject({ status: 200 });
  return JSON.parse(answer.text) as MessageBatch;
}

const ended = ({ id }: MessageBatch) =>
  eventually(async () => {
    const batch = JSON.parse((await call(`/${id}`)).text) as MessageBatch;
    return batch.processing_status === 'ended' && batch;
  });

/** The results, by the ids of their requests. */
async function resultsOf({ id }: MessageBatch): Promise<Record<string, Record<string, unknown>>> {
  const { text } = await call(`/${id}/results`);
  const lines = text.trimEnd().split('\n');
  return Object.fromEntries(
    lines.map((line) => {
      const { custom_id, result } = JSON.parse(line) as {
        custom_id: string;
        result: Record<string, unknown>;
      };
      return [custom_id, result];
    }),
  );
}

const hang = '[[sluice: hang]]';

describe('batches of messages', () => {
  it('answer each request, and say of each what is wrong with it alone', async () => {
    const batch = await started([
      requestOf('right', 'Hi [[sluice: tokens=5]]'),
      requestOf('wrong', 'Hi', { temperature: 9 }),
      requestOf('streamed', 'Hi', { stream: true }),
      requestOf('unknown', 'Hi', { model: 'none' }),
      requestOf('failing', 'Hi [[sluice: fail=server_error]]'),
    ]);
    expect(batch).toMatchObject({
      id: expect.stringMatching(/^msgbatch_/),
      processing_status: 'in_progress',
      request_counts: { processing: 5, succeeded: 0 },
      results_url: null,
    });
    const over = await ended(batch);
    expect(over).toMatchObject({
      request_counts: { processing: 0, succeeded: 1, errored: 4, canceled: 0, expired: 0 },
      results_url: `/v1/messages/batches/${batch.id}/results`,
    });
    expect(await resultsOf(over)).toMatchObject({
      right: {
        type: 'succeeded',
        message: { type: 'message', role: 'assistant', usage: { output_tokens: 5 } },
      },
      wrong: {
        type: 'errored',
        error: { type: 'error', error: { type: 'invalid_request_error', details: { param: 'temperature' } } },
      },
      streamed: {
        type: 'errored',
        error: { type: 'error', error: { type: 'invalid_request_error', details: { param: 'stream' } } },
      },
      unknown: { type: 'errored', error: { error: { details: { error_code: 'model_not_found' } } } },
      failing: { type: 'errored', error: { error: { type: 'api_error' } } },
    });
  });

  it('end with what they have when they are cancelled', async () => {
    const batch = await started([
      requestOf('quick', 'Hi'),
      requestOf('slow', hang),
      requestOf('slower', hang),
    ]);
    await eventually(async () => {
      const { request_counts: counts } = JSON.parse((await call(`/${batch.id}`)).text) as MessageBatch;
      return counts['succeeded'] === 1;
    });
    expect(jsonOf(await call(`/${batch.id}`, { method: 'DELETE' }))).toMatchObject({ type: 'error' });
    expect(await call(`/${batch.id}/results`)).toMatchObject({ status: 400 });
    const cancelling = jsonOf(await call(`/${batch.id}/cancel`, { method: 'POST', api: 1 }));
    expect(cancelling).toMatchObject({
      processing_status: 'canceling',
      cancel_initiated_at: expect.any(String),
    });
    const over = await ended(batch);
    expect(over.request_counts).toMatchObject({ processing: 0, succeeded: 1, canceled: 2 });
    expect(await resultsOf(over)).toMatchObject({
      quick: { type: 'succeeded' },
      slow: { type: 'canceled' },
      slower: { type: 'canceled' },
    });
  });

  it('are listed in both directions, and are gone with their results when they are deleted', async () => {
    const [first, second, third] = [
      await started([requestOf('a', 'Hi')]),
      await started([requestOf('a', 'Hi')]),
      await started([requestOf('a', 'Hi')]),
    ];
    const page = jsonOf(await call('?limit=2'));
    expect(page).toMatchObject({
      data: [{ id: third.id }, { id: second.id }],
      has_more: true,
      first_id: third.id,
      last_id: second.id,
    });
    expect(jsonOf(await call(`?limit=1&after_id=${second.id}`))).toMatchObject({ data: [{ id: first.id }] });
    expect(jsonOf(await call(`?after_id=${first.id}&before_id=${first.id}`))).toMatchObject({
      error: { details: { error_code: 'mutually_exclusive_parameters', param: 'before_id' } },
    });
    expect(jsonOf(await call('?after_id=none'))).toMatchObject({ error: { details: { param: 'after_id' } } });
    expect(jsonOf(await call(`?limit=1&before_id=${first.id}`))).toMatchObject({
      data: [{ id: second.id }],
      has_more: true,
    });
    await ended(first);
    expect(jsonOf(await call(`/${first.id}`, { method: 'DELETE' }))).toEqual({
      id: first.id,
      type: 'message_batch_deleted',
    });
    expect(await call(`/${first.id}`)).toMatchObject({ status: 404 });
    expect(await call(`/${first.id}/results`)).toMatchObject({ status: 404 });
  });

  it('are each tenant’s own, and none of the batches of files', async () => {
    const { id } = await started([requestOf('a', 'Hi')]);
    for (const path of ['', '/results']) {
      expect(await call(`/${id}${path}`, { team: 'team-b' })).toMatchObject({ status: 404 });
    }
    expect(await call(`/${id}/cancel`, { team: 'team-b', method: 'POST' })).toMatchObject({ status: 404 });
    expect(jsonOf(await call('', { team: 'team-b' }))).toMatchObject({ data: [] });
    const headers = { authorization: `Bearer ${keys['team-a']}` };
    const files = await fetch(`${service.apiUrls[0]}/v1/batches`, { headers });
    expect(await files.json()).toMatchObject({ data: [] });
    const one = await fetch(`${service.apiUrls[0]}/v1/batches/${id.replace('msg', '')}`, { headers });
    expect(one.status).toBe(404);
  });

  it.each([
    [{}, 'requests'],
    [{ requests: [] }, 'requests'],
    [{ requests: [{ custom_id: 'a b', params: {} }] }, 'requests[0].custom_id'],
    [{ requests: [{ custom_id: 'a', params: 'x' }] }, 'requests[0].params'],
    [
      { requests: [requestOf('a', 'Hi'), requestOf('b', 'Hi'), requestOf('a', 'Hi')] },
      'requests[2].custom_id',
    ],
  ])('of %j are refused by name', async (body, param) => {
    const answer = await call('', { body });
    expect(answer.status).toBe(400);
    expect(jsonOf(answer)).toMatchObject({ type: 'error', error: { details: { param } } });
  });
});
