import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { eventually } from '@sluice/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { ended, lineOf, resultsIn, started } from './batch-client.ts';
import { testService } from './service.ts';

const keys = { 'team-a': `sk-test-${'a'.repeat(32)}`, 'team-b': `sk-test-${'b'.repeat(32)}` } as const;

const service = testService(() => ({
  apis: 2,
  workers: 2,
  settings: {
    recovery: { lockMs: 3_000, stalledMs: 500 },
    files: { enabled: true, batchLines: 20 },
    keys: Object.entries(keys).map(([name, key]) => ({ name, key })),
    providers: [{ id: 'simulator', type: 'simulator' }],
    models: [
      { id: 'simulator', routes: [{ provider: 'simulator' }] },
      { id: 'slow', routes: [{ provider: 'simulator' }], concurrency: 2 },
    ],
  },
}));

function clientOf(team: keyof typeof keys, api = 0): OpenAI {
  return new OpenAI({ apiKey: keys[team], baseURL: `${service.apiUrls[api]}/v1`, maxRetries: 5 });
}

describe('batches, by the official client', () => {
  it('run each line once, and say what it took', async () => {
    const client = clientOf('team-a');
    const lines = Array.from({ length: 45 }, (_, at) =>
      lineOf(`line-${at}`, { model: 'simulator', input: `Say ${at}. [[sluice: tokens=${1 + (at % 5)}]]` }),
    );
    const batch = await started(client, lines, { metadata: { night: 'first' } });
    expect(batch).toMatchObject({ object: 'batch', status: 'validating', metadata: { night: 'first' } });
    const over = await ended(client, batch);
    expect(over).toMatchObject({
      status: 'completed',
      request_counts: { total: 45, completed: 45, failed: 0 },
      error_file_id: null,
    });
    const results = await resultsIn(client, over.output_file_id);
    expect(results.map(({ custom_id: id }) => id).toSorted()).toEqual(
      lines.map((_, at) => `line-${at}`).toSorted(),
    );
    const bodies = results.map(({ response }) => response?.body as unknown as OpenAI.Responses.Response);
    expect(
      bodies.every(({ status, service_tier: tier }) => status === 'completed' && String(tier) === 'batch'),
    ).toBe(true);
    const output = bodies.reduce((sum, { usage }) => sum + (usage?.output_tokens ?? 0), 0);
    expect(over.usage?.output_tokens).toBe(output);
    // It stands in the file, and no more in the store.
    await expect(client.responses.retrieve(bodies[0]?.id ?? '')).rejects.toMatchObject({ status: 404 });
    const { data } = await client.batches.list();
    expect(data.map(({ id }) => id)).toContain(batch.id);
    await expect(clientOf('team-b').batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 });
    await expect(clientOf('team-b').files.content(over.output_file_id ?? '')).rejects.toMatchObject({
      status: 404,
    });
  });

  it('run chat completions and embeddings', async () => {
    const client = clientOf('team-a');
    const endpoint = '/v1/chat/completions';
    const chat = lineOf('c', { model: 'simulator', messages: [{ role: 'user', content: 'Hi' }] }, endpoint);
    const over = await ended(client, await started(client, [chat], { endpoint }));
    const [result] = await resultsIn(client, over.output_file_id);
    expect(result?.response?.body).toMatchObject({
      object: 'chat.completion',
      choices: [{ finish_reason: 'stop' }],
    });
    expect(over.usage?.output_tokens).toBeGreaterThan(0);
    const embed = lineOf('e', { model: 'simulator', input: ['a', 'b'] }, '/v1/embeddings');
    const vectors = await ended(client, await started(client, [embed], { endpoint: '/v1/embeddings' }));
    const [list] = await resultsIn(client, vectors.output_file_id);
    expect(list?.response?.body).toMatchObject({ object: 'list', data: [{ index: 0 }, { index: 1 }] });
  });

  it('say which lines have failed', async () => {
    const client = clientOf('team-a');
    const lines = [
      lineOf('good', { model: 'simulator', input: 'Hi' }),
      lineOf('bad', { model: 'simulator', input: 'Hi [[sluice: fail=model_error]]' }),
    ];
    const over = await ended(client, await started(client, lines));
    expect(over).toMatchObject({
      status: 'completed',
      request_counts: { total: 2, completed: 1, failed: 1 },
    });
    const [failed] = await resultsIn(client, over.error_file_id);
    expect(failed).toMatchObject({
      custom_id: 'bad',
      response: { body: { error: { code: expect.any(String) } } },
    });
  });

  it('are refused whole, by line, when a line is wrong, and nothing of them runs', async () => {
    const client = clientOf('team-a');
    const good = { model: 'simulator', input: 'Hi' };
    const lines = [
      lineOf('a', good),
      '{"custom_id": "b", ',
      lineOf('a', good),
      lineOf('', good),
      lineOf('c', good, '/v1/embeddings'),
      lineOf('d', { ...good, stream: true }),
      lineOf('e', { ...good, temperature: 9 }),
      lineOf('f', { ...good, model: 'none' }),
      '',
      JSON.stringify({ custom_id: 'g', method: 'GET', url: '/v1/responses', body: good }),
    ];
    const over = await ended(client, await started(client, lines));
    expect(over).toMatchObject({ status: 'failed', output_file_id: null, request_counts: { completed: 0 } });
    expect(over.errors?.data?.map(({ line, code, param }) => [line, code, param])).toEqual([
      [2, 'invalid_json_line', null],
      [3, 'duplicate_custom_id', 'custom_id'],
      [4, 'missing_required_parameter', 'custom_id'],
      [5, 'mismatched_endpoint', 'url'],
      [6, 'unsupported_value', 'body.stream'],
      [7, 'decimal_above_max_value', 'body.temperature'],
      [8, 'model_not_found', 'body.model'],
      [10, 'invalid_method', 'method'],
    ]);
  });

  it('end with what they have when they are cancelled', async () => {
    const client = clientOf('team-b');
    const quick = lineOf('quick', { model: 'simulator', input: 'Hi' });
    const slow = Array.from({ length: 30 }, (_, at) =>
      lineOf(`slow-${at}`, { model: 'slow', input: 'Hi [[sluice: first_token_ms=600000]]' }),
    );
    const batch = await started(client, [quick, ...slow]);
    await eventually(async () => (await client.batches.retrieve(batch.id)).request_counts?.completed === 1);
    expect((await client.batches.cancel(batch.id)).status).toBe('cancelling');
    const over = await ended(client, batch);
    expect(over).toMatchObject({
      status: 'cancelled',
      request_counts: { total: 31, completed: 1, failed: 0 },
    });
    expect((await resultsIn(client, over.output_file_id)).map(({ custom_id: id }) => id)).toEqual(['quick']);
    // Nothing of it runs on.
    await eventually(async () => {
      const answer = await fetch(`${service.apiUrls[0]}/v1/responses`, {
        headers: { authorization: `Bearer ${keys['team-b']}` },
      });
      const { data } = (await answer.json()) as { data: { status: string }[] };
      return data.every(({ status }) => status !== 'queued' && status !== 'in_progress');
    });
  });

  it('lose no line and run none twice, whichever process dies', async () => {
    const client = clientOf('team-b', 1);
    const lines = Array.from({ length: 120 }, (_, at) =>
      lineOf(`line-${at}`, { model: 'simulator', input: `Say ${at}. [[sluice: tokens=3 token_ms=30]]` }),
    );
    const batch = await started(client, lines);
    const isBegun = async (count: number) =>
      ((await client.batches.retrieve(batch.id)).request_counts?.completed ?? 0) >= count;
    await eventually(() => isBegun(10));
    // The api that runs it is one of the two.
    const ports = service.apiUrls.map((url) => Number(new URL(url).port));
    await service.apis[0]?.kill();
    await service.workers[0]?.kill();
    await Promise.all([service.addApi(ports[0]), service.addWorker()]);
    await eventually(() => isBegun(40));
    await service.apis[1]?.kill();
    await service.addApi(ports[1]);
    const over = await ended(client, batch);
    expect(over).toMatchObject({
      status: 'completed',
      request_counts: { total: 120, completed: 120, failed: 0 },
    });
    const results = await resultsIn(client, over.output_file_id);
    expect(results).toHaveLength(120);
    expect(new Set(results.map(({ custom_id: id }) => id)).size).toBe(120);
    // The api that has ended it clears up after that.
    const place = join(dirname(service.file), 'files', 'batches');
    await eventually(async () => !(await readdir(place)).includes(batch.id));
  });

  it.each([
    [{ input_file_id: 'file-none' }, 'input_file_id'],
    [{ endpoint: '/v1/moderations' as const }, 'endpoint'],
    [{ completion_window: '48h' as '24h' }, 'completion_window'],
  ])('are refused with %j, by name', async (more, param) => {
    const client = clientOf('team-a');
    await expect(started(client, ['{}'], more)).rejects.toMatchObject({ status: 400, param });
  });
});
