import { forAllTests, eventually, patchedBuild, within } from '@sluice/testing';
import { expect, it } from 'vitest';
import { startBalancedLoad } from './balanced-load.ts';
import { callerOf } from './caller.ts';
import { hasPagePrograms, openPageShell } from './operating-page.ts';
import { startService } from './service.ts';

const ended = { timeoutMs: 30_000 };
const cleanExit = { code: 0, signal: null };

/** A release with other records. */
const other = forAllTests(() =>
  patchedBuild([
    {
      file: 'packages/response-store/src/record/fields.ts',
      find: /recordVersion = '\d+'/,
      replace: "recordVersion = 'another'",
    },
  ]),
);

it('two releases with other records share a store, and leave to each other what is the other’s', async () => {
  await using service = await startService({ apis: 1, workers: 1 });
  const { url } = await service.addApi(0, other.root);
  const mine = service.caller;
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
  await eventually(async () => (await others.get(id)).body.status === 'completed');
  expect((await mine.create({ input: 'Hello. [[sluice: tokens=3]]' })).body.status).toBe('completed');
});

it.skipIf(!hasPagePrograms)(
  'an upgrade to a release with other records fails no request and cuts no stream, in the order of docs/operating.md (needs Redis on the PATH)',
  async () => {
    await using shell = await openPageShell();
    await using service = await startService({ apis: 2, workers: 1 });
    const replaced = { apis: [...service.apis], workers: [...service.workers] };
    const load = startBalancedLoad(service);
    let answers: string[] = [];
    try {
      // Workers of the new release first: nobody else runs what its apis accept.
      const worker = await service.addWorker(other.root);
      for (const old of replaced.apis) {
        const api = await service.addApi(0, other.root);
        await eventually(() => load.reaches(api.url));
        await shell.run('Replace an api', { NEW_API_URL: api.url, OLD_API_PID: String(old.pid) });
        expect(await within(old.exited, ended)).toEqual(cleanExit);
      }
      // The last of the old workers runs what the old apis accepted, until nothing of it is left.
      const [oldWorker = expect.unreachable()] = replaced.workers;
      await shell.run('Replace a worker', {
        NEW_WORKER_URL: worker.healthUrl,
        OLD_WORKER_PID: String(oldWorker.pid),
      });
      expect(await within(oldWorker.exited, ended)).toEqual(cleanExit);
      const [, , { url } = expect.unreachable()] = service.apis;
      expect((await callerOf(url, service.key).create({ input: 'Done?' })).status).toBe(200);
    } finally {
      answers = await load.end();
    }
    expect(answers).toEqual(['stream completed', 'whole 200']);
  },
  240_000,
);
