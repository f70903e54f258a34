import { eventually } from '@sluice/testing';
import { expect, it } from 'vitest';
import { callerOf } from './caller.ts';
import { patchedBuild } from './patched-build.ts';
import { startService } from './service.ts';

it('two releases with other records share a store, and leave to each other what is the other’s', async () => {
  await using other = await patchedBuild([
    {
      file: 'packages/response-store/src/record/fields.ts',
      find: /recordVersion = '\d+'/,
      replace: "recordVersion = 'another'",
    },
  ]);
  await using service = await startService({ apis: 1, workers: 1 });
  const { url } = await service.addApi(0, other.root);
  const mine = callerOf(service.apiUrls[0] ?? '', service.key);
  const others = callerOf(url, service.key);

  // No worker of the other release runs yet, so what it accepts waits, and nobody here ends or runs it.
  const waiting = await others.create({ input: 'Wait. [[sluice: tokens=3]]', background: true });
  expect(waiting.body.status).toBe('queued');
  const { id } = waiting.body;
  const read = await mine.get(id);
  expect(read.status).toBe(503);
  expect(read.headers.get('retry-after')).not.toBeNull();
  const cancel = await fetch(`${service.apiUrls[0]}/v1/responses/${id}/cancel`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}` },
  });
  expect(cancel.status).toBe(503);
  expect((await mine.create({ input: 'Hello. [[sluice: tokens=3]]' })).body.status).toBe('completed');
  // The worker of this release has met it, and put it off.
  const delayed = `${service.redis.prefix}:{0}:bull:simulator:delayed`;
  await eventually(async () => (await service.redis.client.zscore(delayed, id)) !== null);
  expect((await others.get(id)).body.status).toBe('queued');

  await service.addWorker(other.root);
  await eventually(async () => (await others.get(id)).body.status === 'completed', { timeoutMs: 30_000 });
  expect((await mine.create({ input: 'Hello. [[sluice: tokens=3]]' })).body.status).toBe('completed');
}, 90_000);
