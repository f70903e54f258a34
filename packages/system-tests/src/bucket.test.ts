import { forAllTests, eventually, hasBucketServer, startLocalBucket } from '@sluice/testing';
import OpenAI, { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { ended, lineOf, resultsIn, started } from './batch-client.ts';
import { testService } from './service.ts';

const key = `sk-test-${'a'.repeat(32)}`;

describe.skipIf(!hasBucketServer)('files in a bucket, where there is a server of S3 such as rclone', () => {
  const bucket = forAllTests(startLocalBucket);
  const service = testService(() => ({
    apis: 2,
    workers: 1,
    settings: {
      recovery: { lockMs: 3_000, stalledMs: 500 },
      files: { enabled: true, batchLines: 20, bucket: bucket.settings },
      keys: [{ name: 'team-a', key }],
      providers: [{ id: 'simulator', type: 'simulator' }],
      models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    },
  }));
  const clientOf = (api: number, maxRetries = 5) =>
    new OpenAI({ apiKey: key, baseURL: `${service.apiUrls[api]}/v1`, maxRetries });

  it('are those of every api, and run as a batch of which no line is lost when the api dies', async () => {
    const client = clientOf(1);
    const lines = Array.from({ length: 60 }, (_, at) =>
      lineOf(`line-${at}`, { model: 'simulator', input: `Say ${at}. [[sluice: tokens=3 token_ms=30]]` }),
    );
    const batch = await started(client, lines);
    const isBegun = async (count: number) =>
      ((await client.batches.retrieve(batch.id)).request_counts?.completed ?? 0) >= count;
    await eventually(() => isBegun(10));
    const ports = service.apiUrls.map((url) => Number(new URL(url).port));
    // The one that runs it is one of the two.
    for (const at of [0, 1]) {
      await service.apis[at]?.kill();
      await service.addApi(ports[at]);
      await eventually(() => isBegun(20 + 10 * at));
    }
    const over = await ended(client, batch);
    expect(over).toMatchObject({ status: 'completed', request_counts: { completed: 60, failed: 0 } });
    const ids = (await resultsIn(clientOf(0), over.output_file_id)).map(({ custom_id: id }) => id);
    expect(ids).toHaveLength(60);
    expect(new Set(ids).size).toBe(60);
  });

  it('are said to be away while the bucket is, which ends no batch', async () => {
    const client = clientOf(0, 0);
    const file = await client.files.create({
      file: await toFile(Buffer.from('Hi'), 'a.txt'),
      purpose: 'user_data',
    });
    const wait = lineOf('wait', { model: 'simulator', input: 'Hi [[sluice: tokens=3 token_ms=300]]' });
    const batch = await started(client, [wait]);
    await bucket.end();
    const gone = { status: 503, code: 'files_unavailable' };
    await expect(client.files.content(file.id)).rejects.toMatchObject(gone);
    await expect(client.files.list()).rejects.toMatchObject(gone);
    await expect(
      client.responses.create({
        model: 'simulator',
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }],
      }),
    ).rejects.toMatchObject(gone);
    expect((await client.responses.create({ model: 'simulator', input: 'Hi' })).status).toBe('completed');
    await bucket.begin();
    expect(await (await client.files.content(file.id)).text()).toBe('Hi');
    const over = await ended(client, batch);
    expect(await resultsIn(client, over.output_file_id)).toMatchObject([{ custom_id: 'wait' }]);
    await client.files.delete(file.id);
    await expect(client.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
  });
});
